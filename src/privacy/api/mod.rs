//! HTTP handlers of privacy requests.

mod requests;
mod wire;

use utoipa_axum::router::OpenApiRouter;

use crate::PrivacyState;

/// The routes of `/privacy`.
pub fn routes() -> OpenApiRouter<PrivacyState> {
    requests::routes()
}
