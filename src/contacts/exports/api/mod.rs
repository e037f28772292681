//! HTTP handlers of exports.

mod answer;
mod events;
mod people;

use utoipa_axum::router::OpenApiRouter;
use web::Services;

/// The routes of exports.
pub fn routes() -> OpenApiRouter<Services> {
    events::routes().merge(people::routes())
}
