//! The HTTP side of lists.

mod lists;
mod members;
mod stats;
mod wire;

use utoipa_axum::{router::OpenApiRouter, routes};
use web::Services;

/// The routes of `/lists`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(lists::create_list, lists::list_lists))
        .routes(routes!(lists::get_list, lists::update_list, lists::archive_list))
        .routes(routes!(lists::restore_list))
        .routes(routes!(stats::list_stats))
        .routes(routes!(members::list_members))
        .routes(routes!(members::add_members, members::remove_members))
}
