//! HTTP handlers of events.

mod aggregate;
mod query;
mod track;
pub mod wire;

pub use self::track::{TrackBody, Tracked};

use utoipa_axum::{router::OpenApiRouter, routes};
use web::Services;

/// The routes of `/events`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(track::track_events))
        .routes(routes!(query::query_events))
        .routes(routes!(aggregate::aggregate_events))
}
