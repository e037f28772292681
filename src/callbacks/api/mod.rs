//! The HTTP side. These routes are not described: their shapes are those of the providers.
//!
//! A call is read only once what can be said without its body has been: that its provider is set up (404),
//! that what proves it is there, in the right shape and not too old (401), and that its type is right (415).

mod email;
mod generic;
mod phone;

use axum::{
    Router,
    extract::{FromRequest as _, Request},
    http::HeaderMap,
    routing::post,
};
use kernel::Error;
use utoipa_axum::router::OpenApiRouter;
use web::http::{ApiResult, RawBytes};

use super::model::Unproven;
use crate::CallbackState;

/// The routes of those who tell.
pub fn routes() -> OpenApiRouter<CallbackState> {
    let routes = Router::new()
        .route("/callbacks/email/ses", post(email::ses))
        .route("/callbacks/email/sendgrid", post(email::sendgrid))
        .route("/callbacks/email/postmark", post(email::postmark))
        .route("/callbacks/email/mailgun", post(email::mailgun))
        .route("/callbacks/email/resend", post(email::resend))
        .route("/callbacks/email/raw", post(email::raw))
        .route("/callbacks/sms/twilio", post(phone::twilio))
        .route("/callbacks/whatsapp", post(phone::whatsapp).get(phone::whatsapp_challenge))
        .route("/callbacks/viber/infobip", post(phone::infobip))
        .route("/callbacks/generic/{channel}", post(generic::tell));
    OpenApiRouter::from(routes)
}

impl From<Unproven> for Error {
    fn from(unproven: Unproven) -> Self {
        Self::Unauthenticated(match unproven {
            Unproven::Missing => "The call is not signed",
            Unproven::Wrong => "The call's signature is wrong",
            Unproven::Stale => "The call was signed too long ago",
        })
    }
}

/// What is set up for a provider; without it the route does not exist.
fn set_up<T>(settings: Option<&T>) -> Result<&T, Error> {
    settings.ok_or(Error::RouteNotFound)
}

/// The body of a call whose head was judged.
async fn body<const BYTES_MAX: usize>(
    app: &CallbackState,
    request: Request,
) -> ApiResult<RawBytes<BYTES_MAX>> {
    RawBytes::from_request(request, app).await
}

/// A header as text; empty where there is none.
fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Bytes of a call.
const CALL_BYTES_MAX: usize = 2 << 20;
/// Bytes of mail that came back.
const MAIL_BYTES_MAX: usize = 10 << 20;

/// A call's body as JSON.
fn json(bytes: &[u8]) -> Result<serde_json::Value, Error> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::bad_request(format!("body is not valid JSON: {error}")))
}
