//! HTTP handlers of events.

mod aggregate;
mod dead_letters;
mod live;
mod query;
mod rejected;
mod track;
pub mod wire;

pub use self::track::{TrackBody, Tracked};

use utoipa_axum::router::OpenApiRouter;
use web::Services;

/// The routes of `/events` and `/dead-letters`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .merge(track::routes())
        .merge(query::routes())
        .merge(aggregate::routes())
        .merge(live::routes())
        .merge(rejected::routes())
        .merge(dead_letters::routes())
}
