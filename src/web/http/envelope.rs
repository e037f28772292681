//! The one error body. [`seal`] writes every answer of 400 and above: this program's errors, the framework's
//! 404, 405 and rejections, and panics.
//!
//! ```text
//! {"statusCode":400,"message":"Bad Request","errors":["limit must be…"],"timestamp":"…Z","path":"/x?y"}
//! ```
//!
//! Only 400 has `errors`. Headers such as `Allow`, `Retry-After`, `WWW-Authenticate` and rate limits are kept;
//! those that described the replaced body are removed. Pages that people open get HTML ([`HtmlErrorPage`]).

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{
        ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER,
        TRANSFER_ENCODING, WWW_AUTHENTICATE,
    },
};
use http_body_util::{BodyExt as _, Limited};
use kernel::{Error, Severity, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    request_id::{RequestId, X_REQUEST_ID},
    status,
};

/// Longest error text of the framework that is repeated, in bytes.
const FOREIGN_TEXT_BYTES_MAX: usize = 4 * 1024;

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Error)]
pub(super) struct Envelope<'r> {
    status_code: u16,
    /// The status again, on the routes of event SDKs only, which read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    code: Option<u16>,
    /// The error; `Bad Request` when `errors` lists several fields.
    message: &'r str,
    /// One message per failed field; on 400 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    errors: Option<&'r [String]>,
    timestamp: Timestamp,
    /// Path and query as received.
    path: &'r str,
}

/// In the extensions of a response: its error is answered as this HTML page, made of the status alone, instead
/// of JSON. For pages that people open in a browser.
#[derive(Debug, Clone, Copy)]
pub struct HtmlErrorPage(pub fn(StatusCode) -> String);

/// In the extensions of a response: its error has the status as `code`, too.
#[derive(Debug, Clone, Copy)]
pub struct ErrorWithCode;

/// In the extensions of a response: it keeps its own body. For protocols with errors of their own.
#[derive(Debug, Clone, Copy)]
pub struct OwnError;

/// Texts of an [`Error`], kept in the extensions of the response until [`seal`] writes the body.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    message: String,
    errors: Vec<String>,
    /// What is logged and not answered.
    pub(super) logged: Option<Arc<LoggedError>>,
}

/// An error that the people who run the service should see.
#[derive(Debug)]
pub(super) struct LoggedError {
    pub(super) severity: Severity,
    pub(super) text: String,
}

/// An [`Error`] as the answer to a request: the error type of handlers and extractors.
#[derive(Debug)]
pub struct ApiError(pub Error);

/// The result of a handler.
pub type ApiResult<T> = Result<T, ApiError>;

impl<E> From<E> for ApiError
where
    Error: From<E>,
{
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status::of(&error);
        let headers = response.headers_mut();
        match &error {
            Error::Unauthenticated(_) => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Error::UnsupportedMediaType(_) => {
                headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, zstd"));
            }
            _ => {}
        }
        if let Some(retry_after) = error.retry_after() {
            headers.insert(RETRY_AFTER, whole_seconds(retry_after));
        }
        response.extensions_mut().insert(Refusal::from(error));
        response
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        // Other refusals are not logged: any caller can cause them, as often as it likes.
        let logged = matches!(error, Error::Store(_) | Error::Internal(_))
            .then(|| Arc::new(LoggedError { severity: error.severity(), text: error.to_string() }));
        let plain = |message: String| Self { message, errors: Vec::new(), logged };
        match error {
            Error::Invalid(fields) => {
                let errors: Vec<String> = fields.iter().map(ToString::to_string).collect();
                // A single error is the message; several are listed in `errors`.
                let message = match errors.as_slice() {
                    [only] => only.clone(),
                    _ => "Bad Request".to_owned(),
                };
                Self { errors, ..plain(message) }
            }
            Error::BadRequest { message, errors } => Self { errors, ..plain(message) },
            other => plain(other.message()),
        }
    }
}

/// `Retry-After` counts in whole seconds: rounded up, at least one.
fn whole_seconds(wait: Duration) -> HeaderValue {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    HeaderValue::from(seconds.max(1))
}

/// Gives a response of 400 and above the one body; other responses pass unchanged.
pub(super) async fn seal(response: Response, path: &str, now: Timestamp) -> Response {
    let is_own = response.extensions().get::<OwnError>().is_some();
    if is_own || !status::is_refusal(response.status()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.status = status::folded(parts.status);
    let refusal = match parts.extensions.get::<Refusal>() {
        Some(own) => own.clone(),
        None => foreign(parts.status, &parts.headers, body).await,
    };
    let (form, bytes) = match parts.extensions.get::<HtmlErrorPage>() {
        Some(HtmlErrorPage(page)) => ("text/html; charset=utf-8", page(parts.status).into_bytes()),
        None => (
            "application/json",
            Envelope {
                code: parts.extensions.get::<ErrorWithCode>().map(|_| parts.status.as_u16()),
                ..envelope(parts.status, &refusal.message, &refusal.errors, path, now)
            }
            .into_bytes(),
        ),
    };
    for stale in [CONTENT_LENGTH, CONTENT_ENCODING, TRANSFER_ENCODING] {
        parts.headers.remove(stale);
    }
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(form));
    Response::from_parts(parts, Body::from(bytes))
}

fn envelope<'r>(
    status: StatusCode,
    message: &'r str,
    errors: &'r [String],
    path: &'r str,
    timestamp: Timestamp,
) -> Envelope<'r> {
    Envelope {
        status_code: status.as_u16(),
        code: None,
        message,
        errors: (status == StatusCode::BAD_REQUEST).then_some(errors),
        timestamp,
        path,
    }
}

impl Envelope<'_> {
    fn into_bytes(self) -> Vec<u8> {
        serde_json::to_vec(&self).expect("strings and numbers always serialize")
    }
}

/// The whole answer, including its head, to bytes that are not a request. Their path is not known.
pub(super) fn whole(foreign: StatusCode, now: Timestamp) -> Vec<u8> {
    let status = status::folded(foreign);
    let message = status::words(foreign);
    let body = envelope(status, message, &[message.to_owned()], "", now).into_bytes();
    let id = RequestId::of(&HeaderMap::new());
    let head = format!(
        "HTTP/1.1 {status}\r\n{CONTENT_TYPE}: application/json\r\n{CONTENT_LENGTH}: {}\r\n\
         {X_REQUEST_ID}: {id}\r\n{CONNECTION}: close\r\n\r\n",
        body.len(),
    );
    [head.into_bytes(), body].concat()
}

/// An error of the framework: the text of a 400 is repeated, other statuses get their standard text.
async fn foreign(status: StatusCode, headers: &HeaderMap, body: Body) -> Refusal {
    let message = status.canonical_reason().unwrap_or("Error").to_owned();
    let mut errors = Vec::new();
    if status == StatusCode::BAD_REQUEST {
        let text = if is_text(headers) { collected(body).await } else { None };
        errors.push(text.unwrap_or_else(|| message.clone()));
    }
    Refusal { message, errors, logged: None }
}

fn is_text(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|form| form.as_bytes().starts_with(b"text/plain"))
}

async fn collected(body: Body) -> Option<String> {
    let bytes = Limited::new(body, FOREIGN_TEXT_BYTES_MAX).collect().await.ok()?.to_bytes();
    let text = String::from_utf8(bytes.to_vec()).ok()?;
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sealed(response: impl IntoResponse) -> (http::response::Parts, serde_json::Value) {
        let now = Timestamp::from_millis(0);
        let (parts, body) = seal(response.into_response(), "/a?b=c", now).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (parts, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn a_single_failed_field_is_the_message_too() {
        let error = Error::invalid("variants[1].weight", "must be between 0 and 100");
        let (parts, body) = sealed(ApiError(error)).await;
        assert_eq!(parts.status, StatusCode::BAD_REQUEST);
        assert_eq!(
            body,
            serde_json::json!({
                "statusCode": 400,
                "message": "variants[1].weight must be between 0 and 100",
                "errors": ["variants[1].weight must be between 0 and 100"],
                "timestamp": "1970-01-01T00:00:00.000Z",
                "path": "/a?b=c",
            })
        );
    }

    #[tokio::test]
    async fn errors_are_listed_on_400_alone() {
        for (error, code) in [
            (Error::NotFound("User"), 404),
            (Error::MethodNotAllowed, 405),
            (Error::Unauthenticated("Missing API key"), 401),
            (Error::Conflict("no longer paused".into()), 409),
            (Error::TooLarge { limit: 1, received: None }, 413),
            (Error::UnsupportedMediaType("Content-Type must be JSON".into()), 415),
            (Error::RequestTimeout, 408),
            (Error::internal("secret"), 500),
        ] {
            let text = error.to_string();
            let (parts, body) = sealed(ApiError(error)).await;
            assert_eq!(parts.status.as_u16(), code, "{text}");
            assert_eq!(body["statusCode"], code);
            assert_eq!(body.as_object().unwrap().len(), 4, "{body}");
        }
    }

    #[tokio::test]
    async fn a_page_answers_errors_in_html_with_the_same_status() {
        let mut response = ApiError(Error::NotFound("Link")).into_response();
        response
            .extensions_mut()
            .insert(HtmlErrorPage(|status| format!("<p>{}</p>", status.as_u16())));
        let (parts, body) = seal(response, "/p/x", Timestamp::from_millis(0)).await.into_parts();
        assert_eq!(parts.status, StatusCode::NOT_FOUND);
        assert_eq!(parts.headers[CONTENT_TYPE], "text/html; charset=utf-8");
        assert_eq!(body.collect().await.unwrap().to_bytes(), "<p>404</p>");
    }

    #[tokio::test]
    async fn the_status_is_the_code_where_a_route_asks_for_it() {
        let mut response = ApiError(Error::Unauthenticated("Invalid API key")).into_response();
        response.extensions_mut().insert(ErrorWithCode);
        let (_, body) = sealed(response).await;
        assert_eq!((&body["code"], &body["statusCode"]), (&body["statusCode"], &401.into()));
    }

    #[tokio::test]
    async fn internal_faults_are_not_answered() {
        let (_, body) = sealed(ApiError(Error::internal("password is hunter2"))).await;
        assert_eq!(body["message"], "Internal Server Error");
        assert!(!body.to_string().contains("hunter2"));
    }

    #[tokio::test]
    async fn retry_after_is_in_whole_seconds() {
        for (wait_ms, text) in [(0, "1"), (1, "1"), (1000, "1"), (1001, "2")] {
            let retry_after = Some(Duration::from_millis(wait_ms));
            let (parts, body) =
                sealed(ApiError(Error::Unavailable { what: "Full", retry_after })).await;
            assert_eq!(parts.headers[RETRY_AFTER], text);
            assert_eq!(body["message"], "Full");
        }
    }

    #[tokio::test]
    async fn a_foreign_refusal_is_rewritten_and_its_headers_kept() {
        let response = (StatusCode::UNPROCESSABLE_ENTITY, [("x-kept", "yes")], "bad thing");
        let (parts, body) = sealed(response).await;
        assert_eq!(parts.status, StatusCode::BAD_REQUEST);
        assert_eq!(parts.headers["x-kept"], "yes");
        assert_eq!(parts.headers[CONTENT_TYPE], "application/json");
        assert_eq!(body["errors"], serde_json::json!(["bad thing"]));
    }

    #[tokio::test]
    async fn a_foreign_500_is_answered_without_its_body() {
        let (_, body) = sealed((StatusCode::INTERNAL_SERVER_ERROR, "stack trace")).await;
        assert_eq!(body["message"], "Internal Server Error");
        assert!(!body.to_string().contains("stack trace"));
    }
}
