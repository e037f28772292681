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
        .routes(routes!(add::assert_hard_bounce))
        .routes(routes!(import::import_suppressions))
        .routes(routes!(ledger::find_suppression, ledger::remove_suppressions))
}
