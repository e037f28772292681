//! Links anonymous ids to profiles, any number in a few statements.

use std::collections::{HashMap, HashSet};

use contacts::users::ops::upsert::WriteContext;
use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgConnection;
use web::db;

use super::locked::locked;
use crate::{
    model::{LINKS_MAX, Link, Linked, Trust, is_usable},
    store::{links, remove},
};

/// Links anonymous ids to profiles, in their order, and returns the outcome of each. The first link of an anonymous id
/// stays, so linking again changes nothing. One that was removed is linked again, but not by a call that was applied before.
///
/// # Errors
/// When the store fails, or for more than [`LINKS_MAX`] links.
pub async fn link(context: WriteContext<'_>, links: &[Link<'_>]) -> Result<Vec<Linked>> {
    if links.len() > LINKS_MAX {
        return Err(Error::bad_request(format!("at most {LINKS_MAX} links in one call")));
    }
    let usable: Vec<Link<'_>> =
        links.iter().filter(|link| is_usable(link.anonymous_id)).copied().collect();
    if usable.is_empty() {
        return Ok(vec![Linked::Unusable; links.len()]);
    }
    let outcomes = db::retried(|| attempt(context, &usable)).await?;
    for linked in &outcomes {
        metrics_catalogue::IDENTITY_LINKS.with([linked.name()]).increment(1);
    }
    let mut outcomes = outcomes.into_iter();
    let outcome = |link: &Link<'_>| {
        if is_usable(link.anonymous_id) { outcomes.next() } else { Some(Linked::Unusable) }
    };
    Ok(links.iter().filter_map(outcome).collect())
}

async fn attempt(context: WriteContext<'_>, wanted: &[Link<'_>]) -> Result<Vec<Linked>> {
    let workspace = context.tenant.workspace;
    let ids: Vec<&str> =
        wanted.iter().map(|link| link.anonymous_id).collect::<HashSet<_>>().into_iter().collect();
    // Most links are repeated: those need no lock.
    let known = links::owners(context.db, workspace, &ids).await?;
    let users: HashSet<UserId> = wanted.iter().map(|link| link.user).collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let mut outcomes = Outcomes { owners: known, ..Outcomes::default() };
    let is_repeated = |link: &Link<'_>| outcomes.owners.get(link.anonymous_id) == Some(&link.user);
    if wanted.iter().all(is_repeated) {
        return Ok(vec![Linked::Known; wanted.len()]);
    }
    let mut tx = context.db.begin().await?;
    outcomes.survivors = locked(&mut tx, workspace, &users).await?;
    outcomes.removed = removed(&mut tx, workspace, wanted).await?;
    let possible: Vec<Link<'_>> = wanted
        .iter()
        .filter_map(|link| Some(Link { user: *outcomes.survivors.get(&link.user)?, ..*link }))
        .filter(|link| !outcomes.owners.contains_key(link.anonymous_id))
        .filter(|link| !outcomes.is_removed(link))
        .collect();
    if !possible.is_empty() {
        let new = links::insert(&mut tx, workspace, &possible).await?;
        outcomes.learn(&possible, new);
        let unknown: Vec<&str> =
            ids.iter().copied().filter(|id| !outcomes.owners.contains_key(*id)).collect();
        if !unknown.is_empty() {
            outcomes.owners.extend(links::owners(&mut *tx, workspace, &unknown).await?);
        }
    }
    tx.commit().await?;
    Ok(wanted.iter().map(|link| outcomes.of(link)).collect())
}

/// When those of the anonymous ids were removed that calls of before would link again.
async fn removed(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    wanted: &[Link<'_>],
) -> Result<HashMap<String, Timestamp>> {
    let again = wanted.iter().filter(|link| link.applied_at.is_some());
    let ids: Vec<&str> = again.map(|link| link.anonymous_id).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    remove::removed_at(tx, workspace, &ids).await
}

/// What is known after the links were written.
#[derive(Debug, Default)]
struct Outcomes {
    survivors: HashMap<UserId, UserId>,
    owners: HashMap<String, UserId>,
    new: HashSet<String>,
    removed: HashMap<String, Timestamp>,
}

impl Outcomes {
    /// Notes the owners of ids that were linked now: the profile of the first link of each.
    fn learn(&mut self, links: &[Link<'_>], new: HashSet<String>) {
        for link in links.iter().filter(|link| new.contains(link.anonymous_id)) {
            self.owners.entry(link.anonymous_id.to_owned()).or_insert(link.user);
        }
        self.new = new;
    }

    /// Whether the anonymous id was removed after the call of the link was applied.
    fn is_removed(&self, link: &Link<'_>) -> bool {
        let removed = self.removed.get(link.anonymous_id);
        link.applied_at.zip(removed).is_some_and(|(applied, removed)| applied <= *removed)
    }

    /// Of an anonymous id that is linked several times, the first is new.
    fn of(&mut self, link: &Link<'_>) -> Linked {
        let Some(user) = self.survivors.get(&link.user) else { return Linked::NoProfile };
        match self.owners.get(link.anonymous_id) {
            None if self.is_removed(link) => Linked::Removed,
            None if link.trust == Trust::Public => Linked::PublicFull,
            None => Linked::Full,
            Some(owner) if owner != user => Linked::OfAnother(*owner),
            Some(_) if self.new.remove(link.anonymous_id) => Linked::New,
            Some(_) => Linked::Known,
        }
    }
}
