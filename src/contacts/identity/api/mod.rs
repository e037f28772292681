//! HTTP handlers of identities.

mod identities;
mod merge;

use utoipa_axum::router::OpenApiRouter;
use web::Services;

/// The routes of identities and merges.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().merge(identities::routes()).merge(merge::routes())
}
