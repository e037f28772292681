//! The HTTP side of lists.

mod lists;
mod members;
mod stats;
mod wire;

use utoipa_axum::router::OpenApiRouter;
use web::Services;

/// The routes of `/lists`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().merge(lists::routes()).merge(stats::routes()).merge(members::routes())
}
