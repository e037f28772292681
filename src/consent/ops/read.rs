//! What is known of a contact, read.

use sqlx::PgPool;

use crate::{
    consent::store::contacts,
    kernel::{Result, Tenant, WorkspaceId},
};

/// The organization around a workspace, for those who come by a link and not by a credential; none for a
/// workspace that is gone.
///
/// # Errors
/// When the store fails.
pub async fn tenant_of(db: &PgPool, workspace: WorkspaceId) -> Result<Option<Tenant>> {
    contacts::tenant(db, workspace).await
}
