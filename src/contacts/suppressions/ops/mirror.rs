//! Mirrors opt-outs and opt-ins in the ledgers, inside the transaction of the change.
//!
//! An email address is mirrored within the workspace, a phone number in every workspace of the organization.

use kernel::{ListId, Result, Tenant, Timestamp};
use sqlx::PgConnection;
use web::audit::Origin;

use crate::{
    model::{Ledger, LedgerAddress, OptOut},
    store,
};

/// Which suppressions an opt-in removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptInReach {
    /// Reasons `unsubscribe` and `manual`, in every workspace in which an opt-out would be mirrored.
    Full,
    /// Reason `unsubscribe`, in this workspace alone: all that apps may do.
    OwnUnsubscribe,
}

/// An opt-in of the owner of an address.
#[derive(Debug, Clone, Copy)]
pub struct OptIn<'a> {
    pub origin: &'a Origin,
    pub reach: OptInReach,
    pub address: &'a LedgerAddress,
}

/// Writes opt-outs into the ledgers. Existing rows stay as they are.
///
/// # Errors
/// When the store fails.
pub async fn opt_out(
    connection: &mut PgConnection,
    now: Timestamp,
    tenant: Tenant,
    opt_outs: &[OptOut],
) -> Result<()> {
    if opt_outs.is_empty() {
        return Ok(());
    }
    if opt_outs.iter().any(|opt_out| opt_out.ledger != Ledger::Email) {
        store::mirror::hold_workspaces(connection, tenant).await?;
    }
    store::mirror::insert_opt_outs(connection, tenant, now, opt_outs).await
}

/// Removes the global suppressions that an opt-in to the channel revokes. Rows with deliverability reasons
/// stay.
///
/// # Errors
/// When the store fails.
pub async fn opt_in(
    connection: &mut PgConnection,
    tenant: Tenant,
    opt_in: OptIn<'_>,
) -> Result<()> {
    let OptIn { origin, reach, address } = opt_in;
    let is_full = reach == OptInReach::Full;
    store::history::note_origin(&mut *connection, tenant.workspace, origin).await?;
    store::mirror::delete_consent(connection, tenant, is_full, address).await
}

/// The same for an opt-in to one list: removes suppressions of that list.
///
/// # Errors
/// When the store fails.
pub async fn opt_in_to_list(
    connection: &mut PgConnection,
    tenant: Tenant,
    list: ListId,
    opt_in: OptIn<'_>,
) -> Result<()> {
    let OptIn { origin, reach, address } = opt_in;
    let is_full = reach == OptInReach::Full;
    store::history::note_origin(&mut *connection, tenant.workspace, origin).await?;
    store::mirror::delete_consent_of_list(connection, tenant, is_full, list, address).await
}
