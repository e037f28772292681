//! `GET /metrics` on the admin listener.

use axum::{extract::State, response::IntoResponse};
use http::header;
use web::Services;

/// The content type of Prometheus' text format, version 0.0.4.
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Renders every metric of this process.
#[utoipa::path(get, path = "/metrics", tag = "health", responses((status = 200, body = String)))]
pub(crate) async fn render_metrics(State(services): State<Services>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, PROMETHEUS_TEXT)], services.metrics_text())
}
