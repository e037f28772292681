//! HTTP handlers of consent.

mod channels;
mod contact;
mod history;
mod lists;
mod path;

use utoipa_axum::router::OpenApiRouter;
use web::Services;

/// The routes of `/subscriptions/contacts`.
pub fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .merge(contact::routes())
        .merge(channels::routes())
        .merge(lists::routes())
        .merge(history::routes())
}
