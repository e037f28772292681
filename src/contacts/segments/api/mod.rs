//! The HTTP side of segments.

mod members;
mod segments;
mod wire;

use contacts::ContactState;
use utoipa_axum::router::OpenApiRouter;
use web::http::OffsetPage;

/// Rows on a page where the caller asks for no number, and at most.
type Page = OffsetPage<50, 200>;

/// The routes of `/segments`.
pub fn routes() -> OpenApiRouter<ContactState> {
    segments::routes().merge(members::routes())
}
