//! The HTTP side of `/v1`: wire types, and handlers of a few lines.

mod browsers;
mod devices;
mod in_app;
mod person;
mod subscriptions;
mod track;

use utoipa_axum::router::OpenApiRouter;

use super::Origins;
use crate::SdkState;

/// The routes of `/v1`. `limited` adds a rate limit inside the CORS layer, so that pages can read its
/// refusals.
pub fn routes(
    origins: &Origins,
    limited: impl FnOnce(OpenApiRouter<SdkState>) -> OpenApiRouter<SdkState>,
) -> OpenApiRouter<SdkState> {
    let routes = OpenApiRouter::new()
        .merge(track::routes())
        .merge(devices::routes())
        .merge(in_app::routes())
        .merge(subscriptions::routes());
    browsers::open(limited(routes), origins)
}
