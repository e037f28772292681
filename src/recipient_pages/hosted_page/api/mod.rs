//! The HTTP side: authoring for programs and dashboards, pages for recipients.

mod authoring;
mod public;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::PageState;

/// The routes of the template.
pub fn routes() -> OpenApiRouter<PageState> {
    OpenApiRouter::new()
        .routes(routes!(authoring::get_template, authoring::save_template))
        .routes(routes!(authoring::preview_template))
}

/// The pages of recipients. They are not described: they are for browsers and mail programs.
pub fn pages() -> OpenApiRouter<PageState> {
    OpenApiRouter::from(public::routes())
}
