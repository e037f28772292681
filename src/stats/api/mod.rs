//! The HTTP side of reports.

mod beside;
mod in_app;
mod learning;
mod lists;
mod number;
mod occurrences;
mod recipients;
mod sequential;
mod stats;
mod timeline;
mod uplift;
mod user_messages;
mod variants;

use utoipa_axum::router::OpenApiRouter;
use web::{
    Services,
    http::{DateRange, FromQuery, QueryFields},
};

/// The routes of reports, and of the messages to a person.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .merge(stats::routes())
        .merge(variants::routes())
        .merge(lists::routes())
        .merge(occurrences::routes())
        .merge(recipients::routes())
        .merge(timeline::routes())
        .merge(learning::routes())
        .merge(in_app::routes())
        .merge(user_messages::routes())
}

/// The period in which the messages were sent.
#[derive(Debug, Clone, Copy)]
struct Range(DateRange);

impl FromQuery for Range {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self(query.date_range())
    }
}
