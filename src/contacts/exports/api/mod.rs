//! HTTP handlers of exports.

mod events;

use utoipa_axum::router::OpenApiRouter;
use web::Services;

/// The routes of exports.
pub fn routes() -> OpenApiRouter<Services> {
    events::routes()
}
