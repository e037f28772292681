//! The HTTP side of reports.

mod in_app;
mod learning;
mod lists;
mod number;
mod occurrences;
mod recipients;
mod stats;
mod timeline;
mod variants;

use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    http::{DateRange, FromQuery, QueryFields},
};

/// The routes of reports, under `/campaigns`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(stats::campaign_stats))
        .routes(routes!(variants::variant_stats))
        .routes(routes!(lists::link_stats))
        .routes(routes!(lists::failure_reasons))
        .routes(routes!(lists::time_to_engage))
        .routes(routes!(occurrences::send_occurrences))
        .routes(routes!(recipients::campaign_recipients))
        .routes(routes!(timeline::recipient_timeline))
        .routes(routes!(learning::rl_stats))
        .routes(routes!(in_app::in_app_stats))
        .routes(routes!(in_app::impressions))
}

/// The period in which the messages were sent.
#[derive(Debug, Clone, Copy)]
struct Range(DateRange);

impl FromQuery for Range {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self(query.date_range())
    }
}
