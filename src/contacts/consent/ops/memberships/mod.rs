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
struct LockedRows {
    known: PlanInput,
    addresses: HashMap<UserId, Addresses>,
}

/// Locks the contacts of the requests, and reads the rows that a plan needs.
async fn lock_and_read(
    tx: &mut PgConnection,
    tenant: Tenant,
    changes: &[MembershipChange<'_>],
) -> Result<LockedRows> {
    let keys: HashSet<MembershipKey> = changes.iter().map(|change| change.key).collect();
    let keys: Vec<MembershipKey> = keys.into_iter().collect();
    let users: HashSet<UserId> = keys.iter().map(|key| key.user).collect();
    let lists: HashSet<ListId> = keys.iter().map(|key| key.list).collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let lists: Vec<ListId> = lists.into_iter().collect();
    let addresses = contacts::lock(&mut *tx, tenant.workspace, &users).await?;
    let known = PlanInput {
        users: addresses.keys().copied().collect(),
        lists: memberships::lists(&mut *tx, tenant.workspace, &lists).await?,
        rows: memberships::find(tx, tenant, &keys).await?,
    };
    Ok(LockedRows { known, addresses })
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
