//! The HTTP side of `/v1`: wire types, and handlers of a few lines.

mod browsers;
mod devices;
mod in_app;
mod person;
mod subscriptions;
mod track;

use http::HeaderMap;
use utoipa_axum::router::OpenApiRouter;

use super::Origins;
use crate::{SdkState, event_sdks};

/// The routes for apps and of event SDKs. `limited` adds a rate limit inside the CORS layer, so that pages can read its
/// refusals.
pub fn routes(
    origins: &Origins,
    limited: impl Fn(OpenApiRouter<SdkState>) -> OpenApiRouter<SdkState>,
) -> OpenApiRouter<SdkState> {
    let apps = OpenApiRouter::new()
        .merge(devices::routes())
        .merge(in_app::routes())
        .merge(subscriptions::routes());
    let events = limited(event_sdks::routes());
    OpenApiRouter::new()
        .merge(browsers::open(limited(apps), origins, browsers::APP_HEADERS, &[]))
        .merge(browsers::open(limited(track::routes()), origins, browsers::TRACK_HEADERS, &[]))
        .merge(browsers::open(events, origins, browsers::EVENT_HEADERS, &event_sdks::open_routes()))
}

/// Whether a request may come from a program with a secret key, on a route of event SDKs: those are not limited by peer.
/// The key may stand in the body, so the peer is counted once it is known.
pub fn may_be_of_server(headers: &HeaderMap) -> bool {
    event_sdks::is_with_write_key(headers)
}
