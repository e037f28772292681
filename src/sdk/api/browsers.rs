//! Cross-origin calls (CORS, the Fetch standard) to every route of `/v1`. There are no cookies, so no
//! credentials are allowed.

use axum::{
    extract::Request,
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing,
};
use http::{
    HeaderValue, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, ORIGIN, VARY,
    },
};
use utoipa::openapi::PathItem;
use utoipa_axum::router::OpenApiRouter;

use crate::{Origins, SdkState, event_sdks::OpenRoute};

/// Request headers that a page may send to the routes for apps.
pub(super) const APP_HEADERS: HeaderValue =
    HeaderValue::from_static("x-sdk-key, x-user-token, content-type");
/// Those of event SDKs. A `*` would not cover `Authorization`.
pub(super) const EVENT_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, content-encoding, x-retry-count, anonymousid, sentat, rsa-recovered, \
     rsa-retry-attempt, rsa-since-last-attempt, rsa-since-first-attempt, rsa-retry-reason",
);
/// Those of a route for both.
pub(super) const TRACK_HEADERS: HeaderValue = HeaderValue::from_static(
    "x-sdk-key, x-user-token, content-type, authorization, content-encoding, x-retry-count, anonymousid, sentat, \
     rsa-recovered, rsa-retry-attempt, rsa-since-last-attempt, rsa-since-first-attempt, rsa-retry-reason",
);
/// Response headers that a page may read beside the safelisted ones.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, ratelimit-policy, x-request-id",
);
/// Browsers cap this at two hours.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// Answers `OPTIONS` on these routes and puts the CORS headers on every answer, errors included. `undescribed` are
/// those of the routes that are not in the OpenAPI document.
pub(super) fn open(
    routes: OpenApiRouter<SdkState>,
    origins: &Origins,
    headers: HeaderValue,
    undescribed: &[OpenRoute],
) -> OpenApiRouter<SdkState> {
    let others = undescribed
        .iter()
        .map(|OpenRoute { path, methods }| ((*path).to_owned(), HeaderValue::from_static(methods)));
    let described: Vec<(String, HeaderValue)> = routes
        .get_openapi()
        .paths
        .paths
        .iter()
        .filter_map(|(path, item)| Some((path.clone(), methods(item)?)))
        .chain(others)
        .collect();
    let with_preflights = described.into_iter().fold(routes, |routes, (path, methods)| {
        routes.route(&path, routing::options(async move || preflight(methods)))
    });
    let origins = origins.clone();
    with_preflights.layer(middleware::from_fn(move |request: Request, next: Next| {
        let (origins, headers) = (origins.clone(), headers.clone());
        async move {
            let origin = request.headers().get(ORIGIN).cloned();
            let is_preflight = request.method() == Method::OPTIONS;
            let mut response = next.run(request).await;
            let asked = is_preflight.then_some(headers);
            set_cors_headers(&mut response, &origins, origin.as_ref(), asked);
            response
        }
    }))
}

fn methods(item: &PathItem) -> Option<HeaderValue> {
    let known = [
        (&item.get, "GET"),
        (&item.post, "POST"),
        (&item.put, "PUT"),
        (&item.patch, "PATCH"),
        (&item.delete, "DELETE"),
    ];
    let names: Vec<&str> = known
        .into_iter()
        .filter_map(|(operation, name)| operation.as_ref().map(|_| name))
        .collect();
    HeaderValue::from_str(&names.join(", ")).ok()
}

fn preflight(methods: HeaderValue) -> Response {
    let headers = [(ALLOW, methods.clone()), (ACCESS_CONTROL_ALLOW_METHODS, methods)];
    (StatusCode::NO_CONTENT, headers).into_response()
}

fn set_cors_headers(
    response: &mut Response,
    origins: &Origins,
    origin: Option<&HeaderValue>,
    asked: Option<HeaderValue>,
) {
    let headers = response.headers_mut();
    if origins.depend_on_origin() {
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
    let Some(allowed) = origin.and_then(|origin| origins.allowed(origin)) else {
        headers.remove(ACCESS_CONTROL_ALLOW_METHODS);
        return;
    };
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    if let Some(allowed) = asked {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    } else {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}
