//! The HTTP side: the template for workspaces, the pages for recipients.

mod authoring;
mod public;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::PageState;

pub fn routes() -> OpenApiRouter<PageState> {
    OpenApiRouter::new()
        .routes(routes!(authoring::get_template, authoring::save_template))
        .routes(routes!(authoring::preview_template))
}

/// The pages for recipients. They are for browsers and mail programs, so OpenAPI does not list them.
pub fn pages() -> OpenApiRouter<PageState> {
    OpenApiRouter::from(public::routes())
}
