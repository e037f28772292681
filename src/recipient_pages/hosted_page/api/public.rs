//! `/p/:token`, `/u/:token`, `/c/:token`: pages for people, opened by a signed link alone. Nothing runs on
//! them, nothing is loaded from elsewhere but pictures, and no cookie is read or set. A link is opened before
//! the body of its form is read.

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

/// Bytes of a page's form: 200 lists on five channels twice, with room.
const FORM_BYTES_MAX: usize = 256 << 10;
/// The field by which a mail program says that its user wants out (RFC 8058 3.1).
const ONE_CLICK: &str = "List-Unsubscribe";
/// What a page may do. Its end can be added to: where a form may lead.
const POLICY: &str = "default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; \
                      base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// The routes of the pages.
pub(super) fn routes() -> Router<PageState> {
    // Its own answer to other methods, so that it is a page too.
    let refused = async || ApiError(Error::MethodNotAllowed);
    Router::new()
        .route("/p/{token}", get(show_preferences).post(save_preferences).fallback(refused))
        .route("/u/{token}", get(ask).post(unsubscribe).fallback(refused))
        .route("/c/{token}", get(ask_to_confirm).post(confirm).fallback(refused))
        .layer(middleware::from_fn(guard))
}

/// What holds for every page, refusals included.
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
        // Browsers hold a form's redirects against the policy of the page it was on.
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
    let link = recipient::way_out(&app, &token).await?;
    recipient::ask(&app, link).await.map_err(ApiError)
}

/// The button of our page says `action`; a mail program says `List-Unsubscribe`. Who says neither is
/// treated as a program: it gets its answer here.
async fn unsubscribe(
    State(app): State<PageState>,
    Path(token): Path<String>,
    requester: Requester,
    request: Request,
) -> ApiResult<Response> {
    let link = recipient::way_out(&app, &token).await?;
    let FormBody(fields) = Form::from_request(request, &app).await?;
    let says = |name: &str| fields.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let by_button = says("action") && !says(ONE_CLICK);
    let answer = recipient::unsubscribe(&app, link, by_button, requester).await?;
    // A program reads no page.
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
