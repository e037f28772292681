//! `/p/:token`, `/u/:token`, `/c/:token`: pages for recipients; a signed link is the only credential. They
//! run no script, load nothing from other sites but pictures, and use no cookies. The link is verified before
//! the form's body is read.

use axum::{
    Router,
    extract::{FromRequest as _, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
        X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
    },
};
use kernel::Error;
use web::http::{ApiError, ApiResult, FormBody, HtmlErrorPage, Path, Requester};

use crate::{
    PageState,
    hosted_page::{
        model::Submission,
        ops::recipient::{self, Answer},
        page,
    },
};

/// Bytes of a page's form: 200 lists on five channels, twice, with room to spare.
const FORM_BYTES_MAX: usize = 256 << 10;
/// The field that a mail program sends for one-click unsubscription (RFC 8058 3.1).
const ONE_CLICK: &str = "List-Unsubscribe";
/// The policy of every page; a page's form target is appended.
const POLICY: &str = "default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; \
                      base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

pub(super) fn routes() -> Router<PageState> {
    // An own answer to other methods, so that it is a page too.
    let refused = async || ApiError(Error::MethodNotAllowed);
    Router::new()
        .route("/p/{token}", get(show_preferences).post(save_preferences).fallback(refused))
        .route("/u/{token}", get(ask).post(unsubscribe).fallback(refused))
        .route("/c/{token}", get(ask_to_confirm).post(confirm).fallback(refused))
        .layer(middleware::from_fn(guard))
}

/// Headers of every page, errors included.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.extensions_mut().insert(HtmlErrorPage(page::refusal));
    let headers = response.headers_mut();
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    for (name, value) in [
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (X_ROBOTS_TAG, "noindex"),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = if self.redirect.is_some() { StatusCode::SEE_OTHER } else { StatusCode::OK };
        let mut response = (status, self.html).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        // Browsers check a form's redirects against the policy of the page that held the form.
        let policy = self.leads_to.map(|url| {
            HeaderValue::try_from(format!("{POLICY} {}", url.origin().ascii_serialization()))
        });
        if let Some(Ok(policy)) = policy {
            headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
        if let Some(Ok(location)) =
            self.redirect.map(|url| HeaderValue::try_from(String::from(url)))
        {
            headers.insert(LOCATION, location);
        }
        response
    }
}

type Form = FormBody<FORM_BYTES_MAX>;

async fn show_preferences(
    State(app): State<PageState>,
    Path(token): Path<String>,
) -> ApiResult<Answer> {
    recipient::show(&app, &token).await.map_err(ApiError)
}

async fn save_preferences(
    State(app): State<PageState>,
    Path(token): Path<String>,
    requester: Requester,
    request: Request,
) -> ApiResult<Answer> {
    let link = recipient::preferences(&app, &token).await?;
    let FormBody(fields) = Form::from_request(request, &app).await?;
    recipient::save(&app, link, Submission::read(fields), requester).await.map_err(ApiError)
}

async fn ask(State(app): State<PageState>, Path(token): Path<String>) -> ApiResult<Answer> {
    let link = recipient::unsubscribe_link(&app, &token).await?;
    recipient::ask(&app, link).await.map_err(ApiError)
}

/// The page's own button sends `action`; a mail program sends `List-Unsubscribe`. A request with neither
/// counts as a program: it is answered without a redirect.
async fn unsubscribe(
    State(app): State<PageState>,
    Path(token): Path<String>,
    requester: Requester,
    request: Request,
) -> ApiResult<Response> {
    let link = recipient::unsubscribe_link(&app, &token).await?;
    let FormBody(fields) = Form::from_request(request, &app).await?;
    let says = |name: &str| fields.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let by_button = says("action") && !says(ONE_CLICK);
    let answer = recipient::unsubscribe(&app, link, by_button, requester).await?;
    // A program does not read the page.
    Ok(if by_button { answer.into_response() } else { StatusCode::OK.into_response() })
}

async fn ask_to_confirm(
    State(app): State<PageState>,
    Path(token): Path<String>,
) -> ApiResult<Answer> {
    let link = recipient::confirmation(&app, &token).await?;
    recipient::ask_to_confirm(&app, link).await.map_err(ApiError)
}

async fn confirm(
    State(app): State<PageState>,
    Path(token): Path<String>,
    requester: Requester,
    request: Request,
) -> ApiResult<Answer> {
    let link = recipient::confirmation(&app, &token).await?;
    Form::from_request(request, &app).await?;
    recipient::confirm(&app, link, requester).await.map_err(ApiError)
}
