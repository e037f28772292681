//! HTTP handlers of suppressions.

mod access;
mod add;
mod import;
mod ledger;
mod wire;

use utoipa_axum::{router::OpenApiRouter, routes};
use web::Services;

/// The routes of `/suppressions`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(ledger::list_suppressions, add::add_suppression))
        .merge(add::routes())
        .merge(import::routes())
        .merge(ledger::routes())
}
