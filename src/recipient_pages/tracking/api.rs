//! The open pixel and tracked links. Storing the event delays the answer only briefly, since the client wants
//! the redirect.
//!
//! A peer over its rate limit is answered as well, since many people may share its address; its opens and
//! clicks are not stored.

use std::{convert::Infallible, time::Duration};

use axum::{
    Router,
    extract::{FromRequestParts, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use delivery::ops::engagement::{self, Engaged, Engagement};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, REFERRER_POLICY},
    request::Parts,
};
use kernel::{Error, Result};
use providers::model::Reference;
use url::Url;
use utoipa_axum::router::OpenApiRouter;
use web::{
    http::{ApiError, ApiResult, Client, HtmlErrorPage, Path},
    links::Link,
};

use super::machine;
use crate::{PageState, hosted_page};

/// How long an answer waits for its event to be durable. The event is stored even if that takes longer.
const STORE_WAIT_MAX: Duration = Duration::from_millis(500);
/// Characters of a short link's code.
const CODE_CHARS_MAX: usize = 32;
const NO_LINK: Error = Error::NotFound("Link");
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
/// A transparent pixel (GIF89a).
const PIXEL: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\
    \0\x02\x01D\0;";

/// The routes of the pixel and the links. They are for browsers and mail programs, so OpenAPI does not list
/// them.
pub fn routes() -> OpenApiRouter<PageState> {
    let refused = async || ApiError(Error::MethodNotAllowed);
    let routes = Router::new()
        .route("/o/{token}", get(open).fallback(refused))
        .route("/l/{token}", get(follow).fallback(refused))
        .route("/s/{code}", get(follow_short).fallback(refused))
        .layer(middleware::from_fn(guard));
    OpenApiRouter::from(routes)
}

/// Headers of every answer: every fetch must reach the server, and no site learns the referring page.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.extensions_mut().insert(HtmlErrorPage(hosted_page::refusal));
    let headers = response.headers_mut();
    for (name, value) in [
        (CACHE_CONTROL, "no-store, private, max-age=0"),
        (REFERRER_POLICY, "no-referrer"),
        (X_ROBOTS_TAG, "noindex, nofollow"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// What decides whether the fetch of a link is stored.
struct Fetch {
    client: Client,
    is_within_rate: bool,
    method: Method,
    headers: HeaderMap,
}

impl FromRequestParts<PageState> for Fetch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &PageState) -> Result<Self, Infallible> {
        let client = Client::from_request_parts(parts, app).await?;
        let is_within_rate = app.rate_limits().links.admit_client(client).is_ok();
        let (method, headers) = (parts.method.clone(), parts.headers.clone());
        Ok(Self { client, is_within_rate, method, headers })
    }
}

async fn open(
    fetch: Fetch,
    State(app): State<PageState>,
    Path(token): Path<String>,
) -> ApiResult<Response> {
    let Some(Link::Open(link)) = app.links().open(app.clock().now(), &token).await? else {
        return Err(NO_LINK.into());
    };
    let message = Reference { workspace: link.workspace, message: link.message };
    publish(&app, &fetch, message, Engaged::Opened).await;
    Ok(([(CONTENT_TYPE, "image/gif")], PIXEL).into_response())
}

async fn follow(
    fetch: Fetch,
    State(app): State<PageState>,
    Path(token): Path<String>,
) -> ApiResult<Response> {
    let Some(Link::Click(click)) = app.links().open(app.clock().now(), &token).await? else {
        return Err(NO_LINK.into());
    };
    let location = location(&click.target)?;
    let message = Reference { workspace: click.workspace, message: click.message };
    let engaged = Engaged::Clicked { target: click.target, label: click.label };
    publish(&app, &fetch, message, engaged).await;
    Ok((StatusCode::FOUND, [(LOCATION, location)]).into_response())
}

async fn follow_short(
    fetch: Fetch,
    State(app): State<PageState>,
    Path(code): Path<String>,
) -> ApiResult<Response> {
    let is_code = code.len() <= CODE_CHARS_MAX && code.bytes().all(|b| b.is_ascii_alphanumeric());
    if !is_code {
        return Err(NO_LINK.into());
    }
    let (message, target) = find_short(&app, &fetch, &code).await?;
    let location = location(&target)?;
    // A shortened unsubscribe or preference link is no click.
    if !app.links().is_own(&target) {
        let engaged = Engaged::Clicked { target, label: String::new() };
        publish(&app, &fetch, message, engaged).await;
    }
    Ok((StatusCode::FOUND, [(LOCATION, location)]).into_response())
}

/// Looks up a short link. Codes carry no signature, so clients over their rate limit share a few lookups at a
/// time, and one that tries codes that do not exist is refused (429) when it goes on.
async fn find_short(app: &PageState, fetch: &Fetch, code: &str) -> ApiResult<(Reference, String)> {
    let _permit = if fetch.is_within_rate {
        None
    } else {
        Some(app.over_rate_lookups().acquire().await.map_err(Error::internal)?)
    };
    let unknown = &app.rate_limits().short_links;
    unknown.check(fetch.client)?;
    let found = engagement::short_link(app, code).await?;
    found
        .ok_or_else(|| {
            unknown.count(fetch.client);
            NO_LINK
        })
        .map_err(ApiError)
}

/// The value of `Location`. Only web addresses are ever signed.
fn location(target: &str) -> ApiResult<HeaderValue> {
    let url = Url::parse(target).map_err(|_| NO_LINK)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(NO_LINK.into());
    }
    // Unchanged if a header can hold it: some sites depend on the exact spelling.
    let text = if target.is_ascii() { target } else { url.as_str() };
    HeaderValue::try_from(text).map_err(|_| NO_LINK).map_err(ApiError)
}

/// Stores the open or click, unless the request is a `HEAD` or the client is over its rate limit.
async fn publish(app: &PageState, fetch: &Fetch, message: Reference, engaged: Engaged) {
    if fetch.method != Method::GET || !fetch.is_within_rate {
        return;
    }
    let now = app.clock().now();
    let kind = std::mem::discriminant(&engaged);
    if !app.stored_engagements().admits((message.workspace, message.message, kind), now) {
        metrics_catalogue::TRACKING_REPEATS.increment(1);
        return;
    }
    let Ok(permit) = app.publishing().try_acquire_owned() else {
        metrics_catalogue::TRACKING_UNRECORDED.increment(1);
        return;
    };
    let is_bot = machine::is_machine(&fetch.headers);
    let done = Engagement { message, engaged, at: now, is_bot };
    let app = app.clone();
    let publishing = tokio::spawn(async move {
        let _permit = permit;
        if let Err(error) = engagement::publish(&app, &done).await {
            metrics_catalogue::TRACKING_UNRECORDED.increment(1);
            tracing::warn!(%error, "an open or a click could not be stored");
        }
    });
    let _ = tokio::time::timeout(STORE_WAIT_MAX, publishing).await;
}
