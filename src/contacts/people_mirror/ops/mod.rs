//! Copying what changed, copying everything, and waiting for copies.

mod copy;
mod rebuild;
mod wait;
mod watch;

use analytics::Analytics;
use kernel::{Result, WorkspaceId};
use sqlx::{PgExecutor, PgPool};

pub use self::{
    rebuild::{rebuild, request_rebuild},
    wait::{wait_for_mirror, wait_for_profiles},
    watch::watch,
};
use crate::store;

/// Whether a workspace has links, aliases or merged profiles. Questions about one without are simpler, as most of what
/// ClickHouse does for a small one is to understand it.
///
/// # Errors
/// When PostgreSQL is away.
pub async fn has_identities(executor: impl PgExecutor<'_>, workspace: WorkspaceId) -> Result<bool> {
    store::identities::exist(executor, workspace).await
}

/// The stores that copies go from and to.
#[derive(Debug, Clone)]
pub struct MirrorStores {
    /// Where profiles and campaigns are kept.
    pub db: PgPool,
    /// Where their copies are.
    pub analytics: Analytics,
}
