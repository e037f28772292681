//! Merges a profile into another, in one transaction.

use contacts::{
    consent::ops::{ContactMerge, merge_contacts},
    users::{model::attributes, ops::upsert::WriteContext},
};
use kernel::{Error, FieldError, Result, UserId, WorkspaceId};
use sqlx::PgConnection;
use web::{
    audit::{self, Origin},
    db,
};

use super::locked::ending;
use crate::{
    model::{IDENTIFIERS_MAX, IdentifierType, LinkSource, Merged, ProfilePair},
    store::{
        links::{self, NewIdentity},
        merge as moves, read,
        values::{self, EndedProfile},
    },
};

/// Merges the profile of `from` into that of `into`; both are external or internal ids. Profiles that were merged before
/// are one already, which is no error.
///
/// # Errors
/// Not found without such a profile; invalid for two ids of one profile, or where the survivor would break a limit.
pub async fn merge(
    context: WriteContext<'_>,
    origin: &Origin,
    from: &str,
    into: &str,
) -> Result<Merged> {
    let workspace = context.tenant.workspace;
    let ended = read::profile(context.db, workspace, from).await?;
    let ended = ended.ok_or(Error::NotFound("User"))?;
    let survivor = read::profile(context.db, workspace, into).await?;
    let survivor = survivor.ok_or(Error::NotFound("User"))?;
    if ended.user == survivor.user && !ended.is_merged && !survivor.is_merged {
        return Err(Error::invalid("into", "must be another profile than from"));
    }
    let pair = ProfilePair { from: ended.user, into: survivor.user };
    merge_profiles(context, origin, LinkSource::Merge, pair).await
}

/// Merges two active profiles.
pub(super) async fn merge_profiles(
    context: WriteContext<'_>,
    origin: &Origin,
    source: LinkSource,
    pair: ProfilePair,
) -> Result<Merged> {
    if pair.from == pair.into {
        return Ok(Merged { survivor: pair.into, is_new: false });
    }
    db::retried(|| attempt(context, origin, source, pair)).await
}

async fn attempt(
    context: WriteContext<'_>,
    origin: &Origin,
    source: LinkSource,
    pair: ProfilePair,
) -> Result<Merged> {
    let WriteContext { db, tenant, now, .. } = context;
    let workspace = tenant.workspace;
    let mut tx = db.begin().await?;
    let found = ending(&mut tx, workspace, pair.from, Some(pair.into)).await?;
    let (Some(&from), Some(&into)) = (found.get(&pair.from), found.get(&pair.into)) else {
        return Err(Error::NotFound("User"));
    };
    if from == into {
        return Ok(Merged { survivor: into, is_new: false });
    }
    let pair = ProfilePair { from, into };
    // The internal id of `from` joins the identifiers; its external id is one of both already.
    room_for(&mut tx, workspace, &[from, into], 0).await?;
    let values = merge_values(&mut tx, context, origin, pair).await?;
    moves::identifiers(&mut tx, workspace, pair).await?;
    let from_text = from.to_string();
    let further = values.kept_external_id.as_deref().map(|id| (IdentifierType::External, id));
    for (kind, id) in [(IdentifierType::Internal, from_text.as_str())].into_iter().chain(further) {
        links::add(&mut tx, workspace, NewIdentity { kind, id, user: into, source, at: now })
            .await?;
    }
    let reason = format!("profile {from} was merged into this one");
    let takes_bounces = values.took_email;
    let contacts = ContactMerge { from, into, takes_bounces, reason: &reason };
    let entries = merge_contacts(&mut tx, now, tenant, origin, &contacts).await?;
    moves::devices_and_tallies(&mut tx, workspace, pair).await?;
    tx.commit().await?;
    audit::count(&entries);
    metrics_catalogue::IDENTITY_MERGES.increment(1);
    Ok(Merged { survivor: into, is_new: true })
}

/// What became of the values of two profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MergedValues {
    /// The external id under which the ended profile goes on answering as the survivor.
    kept_external_id: Option<String>,
    /// Whether the survivor has the email address of the ended profile now.
    took_email: bool,
}

/// Ends a locked profile and gives the survivor those of its values that it has none of, attributes key by key. Every id of
/// the ended profile stands for the survivor from then on.
async fn merge_values(
    tx: &mut PgConnection,
    context: WriteContext<'_>,
    origin: &Origin,
    pair: ProfilePair,
) -> Result<MergedValues> {
    let (workspace, at) = (context.tenant.workspace, context.now.utc());
    let merged = values::attributes(tx, workspace, pair).await?;
    attributes::check_stored(&merged.printed, merged.keys).map_err(|fault| {
        Error::invalid("attributes", format!("{fault} after merging those of both profiles"))
    })?;
    let from = values::own(tx, workspace, pair.from).await?;
    let into = values::own(tx, workspace, pair.into).await?;
    let moves_external_id = into.external_id.is_none();
    let ended = EndedProfile {
        pair,
        keeps_external_id: !moves_external_id && from.external_id.is_some(),
        at,
        actor: &origin.actor,
    };
    values::end(tx, workspace, &ended).await?;
    let external_id = from.external_id.as_deref().filter(|_| moves_external_id);
    values::complete(tx, workspace, &ended, external_id).await?;
    Ok(MergedValues {
        kept_external_id: from.external_id.filter(|_| !moves_external_id),
        took_email: into.email.is_none() && from.email.is_some(),
    })
}

/// Checks that the identifiers of these profiles and `more` are few enough for one.
///
/// # Errors
/// Invalid, with the limit.
pub(super) async fn room_for(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
    more: usize,
) -> Result<()> {
    let count = links::count(tx, workspace, users).await?.saturating_add(more);
    if count <= IDENTIFIERS_MAX {
        return Ok(());
    }
    let problem =
        format!("a profile has at most {IDENTIFIERS_MAX} identifiers, this one would have {count}");
    Err(Error::Invalid(vec![FieldError::new("", problem)]))
}
