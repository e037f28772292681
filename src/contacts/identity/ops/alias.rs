//! Aliases: two ids of one person, of which either may have a profile.

use contacts::users::{
    model::{Key, Manner, Upsert},
    ops::{
        internal_ids,
        upsert::{WriteContext, upsert},
    },
};
use kernel::{Error, Result, UserId, store::StoreFault};
use web::audit::Origin;

use super::{link, locked::locked, merge, merge::room_for};
use crate::{
    model::{
        Alias, AliasRefusal, Aliased, IdentifierType, Link, LinkSource, Linked, ProfilePair, Trust,
        is_usable,
    },
    store::{
        links::{self, NewIdentity, NewName},
        read,
    },
};

/// Attempts, each after another request changed one of the ids.
const TRIES_MAX: u32 = 10;

/// Joins two ids. `previous` without a profile is an anonymous id, and is linked to the profile of `user`, which is
/// created where there is none. With an API key, the profile of `previous` is merged into that of `user`, or gets the
/// id `user` where it is free. An anonymous id as `user` stands for the profile that it is linked to, and stays there.
///
/// # Errors
/// When the store fails.
pub async fn alias(
    context: WriteContext<'_>,
    origin: &Origin,
    trust: Trust,
    alias: Alias<'_>,
) -> Result<Aliased> {
    if !is_usable(alias.previous) || !is_usable(alias.user) {
        return Ok(Aliased::Refused(AliasRefusal::Unusable));
    }
    for _ in 0..TRIES_MAX {
        match attempt(context, origin, trust, alias).await {
            Ok(Some(aliased)) => return Ok(aliased),
            Ok(None)
            | Err(
                Error::NotFound(_)
                | Error::Store(StoreFault::LostRace(_) | StoreFault::Duplicate(_)),
            ) => {}
            // What a merge refuses is the same each time.
            Err(Error::Invalid(problems)) => {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                return Ok(Aliased::Refused(AliasRefusal::Limit(problems.join("; "))));
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::store_unavailable())
}

/// `None` when one of the ids changed meanwhile.
async fn attempt(
    context: WriteContext<'_>,
    origin: &Origin,
    trust: Trust,
    alias: Alias<'_>,
) -> Result<Option<Aliased>> {
    let (db, workspace) = (context.db, context.tenant.workspace);
    let previous = read::profile(db, workspace, alias.previous).await?.map(|found| found.user);
    let user = match read::profile(db, workspace, alias.user).await? {
        Some(found) => Named::Profile(found.user),
        None => match read::linked_users(db, workspace, &[alias.user]).await?.get(alias.user) {
            Some(owner) => Named::LinkedTo(*owner),
            None => Named::Free,
        },
    };
    match (previous, user) {
        (Some(previous), Named::Profile(user) | Named::LinkedTo(user)) if previous == user => {
            Ok(Some(Aliased::Known(user)))
        }
        (Some(_), _) if trust == Trust::Public => {
            Ok(Some(Aliased::Refused(AliasRefusal::PublicKey)))
        }
        (Some(from), Named::Profile(into)) => {
            let pair = ProfilePair { from, into };
            let merged = merge::merge_profiles(context, origin, LinkSource::Alias, pair).await?;
            Ok(Some(Aliased::Merged(merged.survivor)))
        }
        (Some(_), Named::LinkedTo(_)) => Ok(Some(Aliased::Refused(AliasRefusal::LinkedToAnother))),
        (Some(profile), Named::Free) => named(context, origin, profile, alias.user).await,
        (None, Named::Profile(user) | Named::LinkedTo(user)) => {
            linked(context, trust, alias, Some(user)).await.map(Some)
        }
        (None, Named::Free) => linked(context, trust, alias, None).await.map(Some),
    }
}

/// What the id `user` of an alias stands for.
#[derive(Debug, Clone, Copy)]
enum Named {
    /// A profile that has it as its own.
    Profile(UserId),
    /// The profile to which it is linked as an anonymous id that names users.
    LinkedTo(UserId),
    Free,
}

/// Gives a profile an id that no profile has.
async fn named(
    context: WriteContext<'_>,
    origin: &Origin,
    profile: UserId,
    id: &str,
) -> Result<Option<Aliased>> {
    let WriteContext { db, tenant, now: at, .. } = context;
    let mut tx = db.begin().await?;
    let found = locked(&mut tx, tenant.workspace, &[profile]).await?;
    let Some(user) = found.get(&profile).copied() else { return Ok(None) };
    if let Ok(internal) = id.parse::<UserId>()
        && !internal_ids(&mut tx, tenant.workspace, &[internal]).await?.is_empty()
    {
        return Err(Error::invalid("userId", "must not be the internal id of a deleted profile"));
    }
    room_for(&mut tx, tenant.workspace, &[user], 1).await?;
    let stands_in = UserId::mint(at);
    let name = NewName { external_id: id, user, stands_in, at, actor: &origin.actor };
    if !links::name(&mut tx, tenant.workspace, name).await? {
        let (kind, source) = (IdentifierType::Alias, LinkSource::Alias);
        links::add(&mut tx, tenant.workspace, NewIdentity { kind, id, user, source, at }).await?;
    }
    tx.commit().await?;
    Ok(Some(Aliased::Named(user)))
}

/// Links `previous`, which has no profile, to the profile of `user`.
async fn linked(
    context: WriteContext<'_>,
    trust: Trust,
    alias: Alias<'_>,
    user: Option<UserId>,
) -> Result<Aliased> {
    let workspace = context.tenant.workspace;
    let user = if let Some(user) = user {
        user
    } else {
        let owners = links::owners(context.db, workspace, &[alias.previous]).await?;
        if let Some(owner) = owners.get(alias.previous) {
            // The link stays where it is, so a profile of `user` is not needed.
            let linked = Linked::OfAnother(*owner);
            return Ok(Aliased::Linked { user: *owner, linked });
        }
        created(context, alias.user).await?
    };
    let (source, at) = (LinkSource::Alias, context.now);
    let link = Link { anonymous_id: alias.previous, user, source, at, trust, applied_at: None };
    let outcomes = link::link(context, &[link]).await?;
    let linked = outcomes.into_iter().next();
    let linked = linked.ok_or_else(|| Error::internal("a link without an outcome"))?;
    Ok(Aliased::Linked { user, linked })
}

async fn created(context: WriteContext<'_>, external_id: &str) -> Result<UserId> {
    let key = Key::External(external_id.to_owned());
    let manner = Manner::default();
    let new = Upsert { key, email: None, phone: None, attributes: None, group_id: None, manner };
    let outcome = upsert(context, std::slice::from_ref(&new)).await?.into_iter().next();
    Ok(outcome.ok_or_else(|| Error::internal("an upsert without an outcome"))??.id)
}
