//! How consent moves the ledgers, inside the transaction of the change.
//!
//! An email address is followed within the workspace, a phone number in every workspace of the
//! organization.

use kernel::{ListId, Result, Tenant, Timestamp};
use sqlx::PgConnection;

use crate::suppressions::{
    model::{Identifier, Ledger, OptOut},
    store,
};

/// Which consent rows an opt-in takes out of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptInReach {
    /// Those of reason `unsubscribe` and `manual`, as far as opt-outs of the kind reach.
    Full,
    /// What apps may do: those of reason `unsubscribe`, in the workspace alone.
    OwnUnsubscribe,
}

/// Writes opt-outs into the ledgers. One that is there already stays as it is.
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

/// Takes the consent rows within reach of a fresh opt-in out of a ledger, the ones that block the whole
/// channel; deliverability rows stay.
///
/// # Errors
/// When the store fails.
pub async fn opt_in(
    connection: &mut PgConnection,
    tenant: Tenant,
    reach: OptInReach,
    (ledger, identifier): (Ledger, &Identifier),
) -> Result<()> {
    let is_full = reach == OptInReach::Full;
    store::mirror::delete_consent(connection, tenant, is_full, (ledger, identifier)).await
}

/// Likewise for an opt-in to one list: the consent rows of that list.
///
/// # Errors
/// When the store fails.
pub async fn opt_in_to_list(
    connection: &mut PgConnection,
    tenant: Tenant,
    reach: OptInReach,
    list: ListId,
    (ledger, identifier): (Ledger, &Identifier),
) -> Result<()> {
    let is_full = reach == OptInReach::Full;
    let address = (ledger, identifier);
    store::mirror::delete_consent_of_list(connection, tenant, is_full, list, address).await
}
