//! The HTTP side of users.

mod events;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::app::App;

/// The routes of `/users`.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(events::list_user_events))
}
