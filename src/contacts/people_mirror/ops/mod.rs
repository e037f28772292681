//! Copying what changed, copying everything, and waiting for copies.

mod copy;
mod rebuild;
mod wait;
mod watch;

use analytics::Analytics;
use sqlx::PgPool;

pub use self::{
    rebuild::{rebuild, request_rebuild},
    wait::wait_for_mirror,
    watch::watch,
};

/// The stores that copies go from and to.
#[derive(Debug, Clone)]
pub struct MirrorStores {
    /// Where profiles and campaigns are kept.
    pub db: PgPool,
    /// Where their copies are.
    pub analytics: Analytics,
}
