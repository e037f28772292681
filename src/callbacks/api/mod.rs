//! The HTTP routes. They are not in the OpenAPI document: providers define their forms.
//!
//! What can be checked without the body is checked before it is read: that the provider is configured (404), that its
//! signature is there, in the right shape and not too old (401), and that the body's type is right (415).

mod generic;
mod provider;
mod raw;

use axum::{
    Router,
    extract::{FromRequest as _, Request},
    routing::post,
};
use kernel::Error;
use utoipa_axum::router::OpenApiRouter;
use web::http::{ApiResult, RawBytes};

use crate::CallbackState;

/// Bytes of a callback.
const CALL_BYTES_MAX: usize = 2 << 20;
/// Bytes of a returned mail.
const MAIL_BYTES_MAX: usize = 10 << 20;

/// The routes of all callbacks.
pub fn routes() -> OpenApiRouter<CallbackState> {
    let own = Router::new()
        .route("/callbacks/email/raw", post(raw::receive))
        .route("/callbacks/generic/{channel}", post(generic::receive));
    let routes = providers::registry::callbacks()
        .fold(own, |routes, (name, entry)| routes.route(entry.path, provider::route(name, entry)));
    OpenApiRouter::from(routes)
}

/// A configured source; without one the route does not exist.
fn set_up<T: ?Sized>(source: Option<&T>) -> Result<&T, Error> {
    source.ok_or(Error::RouteNotFound)
}

/// The body of a call whose head is checked.
async fn body<const BYTES_MAX: usize>(
    app: &CallbackState,
    request: Request,
) -> ApiResult<RawBytes<BYTES_MAX>> {
    RawBytes::from_request(request, app).await
}
