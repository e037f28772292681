//! The profiles of the identifiers in events, as PostgreSQL knows them.
//!
//! An identifier leads to a profile by the rules of `src/contacts/identity/README.md`. What leads to an active profile
//! comes before what leads to a deleted one; events stay bound to a deleted profile until another gets its identifier.

use std::collections::{BTreeSet, HashMap, HashSet};

use analytics::messages::FormerLinks;
use contacts::events::ops::people::linked_profiles;
use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgPool;

use crate::store;

/// Profiles by the identifiers of events: of each person all profiles that were merged into one.
#[derive(Debug, Default)]
pub(super) struct People {
    by_user: HashMap<String, Vec<UserId>>,
    by_anonymous: HashMap<String, Vec<UserId>>,
}

impl People {
    /// Finds the profiles of ids in `userId` or `serviceUserId`, and of anonymous ids of events without a user.
    pub(super) async fn find(
        db: &PgPool,
        workspace: WorkspaceId,
        users: &HashSet<&str>,
        anonymous: &HashSet<&str>,
    ) -> Result<Self> {
        let mut people = Self::default();
        let mut unknown: HashSet<&str> = users.clone();
        let texts = |ids: &HashSet<&str>| -> Vec<String> {
            ids.iter().map(|id| (*id).to_owned()).collect()
        };
        let active = store::people::active_of_external_ids(db, workspace, &texts(users)).await?;
        people.add(&mut unknown, active.into_iter().collect());
        let linked = linked_profiles(db, workspace, &texts(&unknown), &texts(anonymous)).await?;
        let (active, deleted): (Vec<_>, Vec<_>) =
            linked.by_user.into_iter().partition(|(_, profile)| profile.is_active);
        people.add(&mut unknown, active.into_iter().map(|(id, of)| (id, of.user)).collect());
        let former =
            store::people::deleted_of_external_ids(db, workspace, &texts(&unknown)).await?;
        people.add(&mut unknown, former.into_iter().collect());
        people.add(&mut unknown, deleted.into_iter().map(|(id, of)| (id, of.user)).collect());
        for id in users {
            // Only the canonical form in lower case is an internal id.
            if let Ok(user) = id.parse::<UserId>()
                && user.to_string() == **id
            {
                people.by_user.entry((*id).to_owned()).or_default().push(user);
            }
        }
        for (id, profile) in linked.by_anonymous {
            people.by_anonymous.entry(id).or_default().push(profile.user);
        }
        let found: Vec<UserId> = people.users().copied().collect();
        let merged = store::people::merged(db, workspace, &found).await?;
        people.extend(&merged);
        Ok(people)
    }

    /// Adds profiles of ids that led to none.
    fn add(&mut self, unknown: &mut HashSet<&str>, found: HashMap<String, UserId>) {
        for (id, user) in found {
            if unknown.remove(id.as_str()) {
                self.by_user.entry(id).or_default().push(user);
            }
        }
    }

    /// Adds to each profile those that are the same person.
    fn extend(&mut self, same: &HashMap<UserId, Vec<UserId>>) {
        for users in self.by_user.values_mut().chain(self.by_anonymous.values_mut()) {
            let further: Vec<UserId> =
                users.iter().filter_map(|user| same.get(user)).flatten().copied().collect();
            users.extend(further);
        }
    }

    pub(super) fn users(&self) -> impl Iterator<Item = &UserId> {
        self.by_user.values().chain(self.by_anonymous.values()).flatten()
    }

    /// The profiles of the person of an event.
    pub(super) fn of(&self, users: &[String], anonymous: &str) -> BTreeSet<UserId> {
        let by_user = users.iter().filter_map(|id| self.by_user.get(id));
        by_user.chain(self.by_anonymous.get(anonymous)).flatten().copied().collect()
    }
}

/// The identifiers that lead to these deleted profiles.
pub(super) async fn former_links(
    db: &PgPool,
    workspace: WorkspaceId,
    deleted: &[UserId],
) -> Result<FormerLinks> {
    let mut links = FormerLinks::default();
    if deleted.is_empty() {
        return Ok(links);
    }
    let ids = store::people::identifiers_of_deleted(db, workspace, deleted).await?;
    let users: HashSet<&str> = ids.users.iter().map(String::as_str).collect();
    let anonymous: HashSet<&str> = ids.anonymous.iter().map(String::as_str).collect();
    let people = People::find(db, workspace, &users, &anonymous).await?;
    let deleted: HashSet<&UserId> = deleted.iter().collect();
    for (id, profiles) in &people.by_user {
        for profile in profiles.iter().filter(|profile| deleted.contains(profile)) {
            links.add_user(id, *profile.bytes());
        }
    }
    for (id, profiles) in &people.by_anonymous {
        for profile in profiles.iter().filter(|profile| deleted.contains(profile)) {
            links.add_anonymous(id, *profile.bytes());
        }
    }
    Ok(links)
}
