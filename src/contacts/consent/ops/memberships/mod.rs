//! Changes of memberships: by a contact itself, or of thousands on their behalf.

mod bulk;
mod own;

pub use self::{
    bulk::{Added, Members, add_members, apply_inline, remove_members},
    own::{SDK_SOURCE, Subscribed, Subscription, confirm, request, subscribe, unsubscribe},
};

pub(super) use self::own::{CONFIRMED, RECIPIENT, confirmed_by, reach_of};

use std::collections::{HashMap, HashSet};

use kernel::{ListId, Result, UserId};
use sqlx::PgConnection;
use web::audit::{self, Write};

use crate::consent::{
    model::{Known, MembershipKey, Plan, Tenant, Turn},
    store::{
        contacts::{self, Addresses},
        memberships, pending,
    },
};

/// The rows that a plan needs, and the addresses of the contacts.
struct Seen {
    known: Known,
    addresses: HashMap<UserId, Addresses>,
}

/// Locks the contacts of the requests, and reads the rows that a plan needs.
async fn look(
    tx: &mut PgConnection,
    tenant: Tenant,
    requests: &[(MembershipKey, Turn<'_>)],
) -> Result<Seen> {
    let keys: HashSet<MembershipKey> = requests.iter().map(|(key, _)| *key).collect();
    let keys: Vec<MembershipKey> = keys.into_iter().collect();
    let users: HashSet<UserId> = keys.iter().map(|key| key.user).collect();
    let lists: HashSet<ListId> = keys.iter().map(|key| key.list).collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let lists: Vec<ListId> = lists.into_iter().collect();
    let addresses = contacts::lock(&mut *tx, tenant.workspace, &users).await?;
    let known = Known {
        users: addresses.keys().copied().collect(),
        lists: memberships::lists(&mut *tx, tenant.workspace, &lists).await?,
        rows: memberships::find(tx, tenant, &keys).await?,
    };
    Ok(Seen { known, addresses })
}

/// Writes a plan to the database.
async fn carry_out(
    tx: &mut PgConnection,
    tenant: Tenant,
    write: &Write<'_>,
    plan: &Plan,
) -> Result<()> {
    memberships::save(&mut *tx, tenant.workspace, &plan.rows).await?;
    pending::settle(&mut *tx, tenant.workspace, &plan.settled).await?;
    audit::append(tx, tenant.workspace, write, &plan.entries).await
}
