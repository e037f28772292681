//! What bounces say about addresses: the ledger's rows, and the same on the contacts that have them.

use sqlx::PgConnection;

use crate::{
    kernel::{Result, WorkspaceId},
    suppressions::{model::Identifier, store},
};

/// Takes the deliverability rows (`hard_bounce`, `complaint`) of an address out of a workspace's ledger.
///
/// # Errors
/// When the store fails.
pub async fn forget(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    address: &Identifier,
) -> Result<()> {
    store::bounces::delete_of_address(connection, workspace, address).await
}
