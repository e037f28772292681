//! Changes of memberships: by a contact itself, or of thousands on their behalf.

mod bulk;
mod by_contact;

pub use self::{
    bulk::{Added, Members, add_members, apply_inline, remove_members},
    by_contact::{SDK_SOURCE, Subscribed, Subscription, confirm, request, subscribe, unsubscribe},
};

pub(super) use self::by_contact::{CONFIRMED, RECIPIENT, confirmation_deadline, opt_in_reach};

use std::collections::{HashMap, HashSet};

use kernel::{ListId, Result, UserId};
use sqlx::PgConnection;
use web::audit::{self, Write};

use crate::consent::{
    model::{MembershipChange, MembershipKey, Plan, PlanInput, Tenant},
    store::{
        contacts::{self, Addresses},
        memberships, pending,
    },
};

/// The rows that a plan needs, and the addresses of the contacts.
struct LockedRows<'c> {
    known: PlanInput,
    addresses: HashMap<UserId, Addresses>,
    /// The requests; those of merged contacts are of their survivors.
    changes: Vec<MembershipChange<'c>>,
}

impl LockedRows<'_> {
    /// The key of the only request: that of the survivor where the contact was merged.
    fn key(&self, sent: MembershipKey) -> MembershipKey {
        self.changes.first().map_or(sent, |change| change.key)
    }
}

/// Locks the contacts of the requests, and reads the rows that a plan needs.
async fn lock_and_read<'c>(
    tx: &mut PgConnection,
    tenant: Tenant,
    changes: &[MembershipChange<'c>],
) -> Result<LockedRows<'c>> {
    let users: HashSet<UserId> = changes.iter().map(|change| change.key.user).collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let locked = contacts::lock(&mut *tx, tenant.workspace, &users).await?;
    let current = |change: &MembershipChange<'c>| {
        let key = MembershipKey { user: locked.current(change.key.user), ..change.key };
        MembershipChange { key, ..*change }
    };
    let changes: Vec<MembershipChange<'c>> = changes.iter().map(current).collect();
    let addresses = locked.addresses;
    let keys: HashSet<MembershipKey> = changes.iter().map(|change| change.key).collect();
    let keys: Vec<MembershipKey> = keys.into_iter().collect();
    let lists: HashSet<ListId> = keys.iter().map(|key| key.list).collect();
    let lists: Vec<ListId> = lists.into_iter().collect();
    let known = PlanInput {
        users: addresses.keys().copied().collect(),
        lists: memberships::lists(&mut *tx, tenant.workspace, &lists).await?,
        rows: memberships::find(tx, tenant, &keys).await?,
    };
    Ok(LockedRows { known, addresses, changes })
}

/// Writes a plan to the database.
async fn write_plan(
    tx: &mut PgConnection,
    tenant: Tenant,
    write: &Write<'_>,
    plan: &Plan,
) -> Result<()> {
    memberships::save(&mut *tx, tenant.workspace, &plan.rows).await?;
    pending::settle(&mut *tx, tenant.workspace, &plan.settled).await?;
    audit::append(tx, tenant.workspace, write, &plan.entries).await
}
