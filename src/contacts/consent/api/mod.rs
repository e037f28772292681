//! HTTP handlers of consent.

mod channels;
mod contact;
mod history;
mod lists;
mod path;

use utoipa_axum::{router::OpenApiRouter, routes};
use web::Services;

/// The routes of `/subscriptions/contacts`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(contact::find_contact))
        .routes(routes!(contact::check_email))
        .routes(routes!(channels::update_channel))
        .routes(routes!(channels::check_channel))
        .routes(routes!(channels::clear_bounce))
        .routes(routes!(lists::list_lists))
        .routes(routes!(lists::subscribe, lists::unsubscribe))
        .routes(routes!(history::list_history))
}
