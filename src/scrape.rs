//! `GET /metrics` on the admin listener.

use axum::{extract::State, response::IntoResponse};
use http::header;
use web::{Services, db};

/// The content type of Prometheus' text format, version 0.0.4.
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Renders every metric of this process.
#[utoipa::path(get, path = "/metrics", tag = "health", responses((status = 200, body = String)))]
pub(crate) async fn render_metrics(State(services): State<Services>) -> impl IntoResponse {
    db::observe_pool(services.db());
    services.readiness().workers().observe();
    let (in_flight, waiting) = services.analytics().in_flight_and_waiting();
    for (state, count) in [("in_flight", in_flight), ("waiting", waiting)] {
        let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        metrics_catalogue::CLICKHOUSE_QUERIES.with([state]).set(count);
    }
    ([(header::CONTENT_TYPE, PROMETHEUS_TEXT)], services.recorder().render())
}
