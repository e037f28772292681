//! How consent moves the ledgers, inside the transaction of the change.
//!
//! An email address is followed within the workspace, a phone number in every workspace of the
//! organization.

use sqlx::PgConnection;

use crate::{
    kernel::{ListId, Result, Tenant, Timestamp},
    suppressions::{
        model::{Identifier, Ledger, OptOut},
        store,
    },
};

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

/// Takes the consent rows (`unsubscribe`, `manual`) of a fresh opt-in out of a ledger, the ones that
/// block the whole channel; deliverability rows stay.
///
/// # Errors
/// When the store fails.
pub async fn opt_in(
    connection: &mut PgConnection,
    tenant: Tenant,
    ledger: Ledger,
    identifier: &Identifier,
) -> Result<()> {
    store::mirror::delete_consent(connection, tenant, ledger, identifier).await
}

/// Likewise for an opt-in to one list: the consent rows of that list.
///
/// # Errors
/// When the store fails.
pub async fn opt_in_to_list(
    connection: &mut PgConnection,
    tenant: Tenant,
    list: ListId,
    (ledger, identifier): (Ledger, &Identifier),
) -> Result<()> {
    store::mirror::delete_consent_of_list(connection, tenant, list, (ledger, identifier)).await
}
