//! The HTTP side: the template for workspaces, the pages for recipients.

mod authoring;
mod public;

use utoipa_axum::router::OpenApiRouter;

use crate::PageState;

pub fn routes() -> OpenApiRouter<PageState> {
    OpenApiRouter::new().merge(authoring::routes())
}

/// The pages for recipients. They are for browsers and mail programs, so OpenAPI does not list them.
pub fn pages() -> OpenApiRouter<PageState> {
    OpenApiRouter::from(public::routes())
}
