//! The HTTP side of `/v1`: wire types, and handlers of a few lines.

mod browsers;
mod devices;
mod in_app;
mod person;
mod subscriptions;
mod track;

use utoipa_axum::{router::OpenApiRouter, routes};

use super::Origins;
use crate::SdkState;

/// The routes of `/v1`. `limited` adds a rate limit inside the CORS layer, so that pages can read its
/// refusals.
pub fn routes(
    origins: &Origins,
    limited: impl FnOnce(OpenApiRouter<SdkState>) -> OpenApiRouter<SdkState>,
) -> OpenApiRouter<SdkState> {
    let routes = OpenApiRouter::new()
        .routes(routes!(track::track_from_app))
        .routes(routes!(devices::register_device))
        .routes(routes!(devices::remove_device))
        .routes(routes!(in_app::list_in_app_messages))
        .routes(routes!(in_app::record_in_app_events))
        .routes(routes!(subscriptions::set_channel))
        .routes(routes!(subscriptions::set_group));
    browsers::open(limited(routes), origins)
}
