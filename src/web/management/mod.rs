//! The HTTP side of what every workspace has: its keys and its audit log.

mod audit;
mod keys;

use utoipa_axum::router::OpenApiRouter;

use crate::Services;

/// The routes of `/keys` and `/audit`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().merge(keys::routes()).merge(audit::routes())
}
