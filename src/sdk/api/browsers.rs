//! Calls from pages of elsewhere (CORS, the Fetch standard): every route of `/v1` tells browsers that it
//! takes them. No cookies are involved, so nothing is allowed with credentials.

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

use crate::{Origins, SdkState};

/// What a page may send along.
const HEADERS: HeaderValue = HeaderValue::from_static("x-sdk-key, x-user-token, content-type");
/// What a page may read of an answer, besides what it always may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, ratelimit-policy, x-request-id",
);
/// Seconds a browser need not ask again; two hours is the most that browsers heed.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// Opens routes to the browsers on these pages: each answers `OPTIONS`, and says of every answer, refusals
/// included, who may read it.
pub(super) fn open(routes: OpenApiRouter<SdkState>, origins: &Origins) -> OpenApiRouter<SdkState> {
    let described: Vec<(String, HeaderValue)> = routes
        .get_openapi()
        .paths
        .paths
        .iter()
        .filter_map(|(path, item)| Some((path.clone(), methods(item)?)))
        .collect();
    let with_preflights = described.into_iter().fold(routes, |routes, (path, methods)| {
        routes.route(&path, routing::options(async move || preflight(methods)))
    });
    let origins = origins.clone();
    with_preflights.layer(middleware::from_fn(move |request: Request, next: Next| {
        let origins = origins.clone();
        async move {
            let asking = request.headers().get(ORIGIN).cloned();
            let is_preflight = request.method() == Method::OPTIONS;
            let mut response = next.run(request).await;
            tell(&mut response, &origins, asking.as_ref(), is_preflight);
            response
        }
    }))
}

/// The methods of a path, as a header lists them.
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

/// Tells a browser whether the page that asks may read the answer.
fn tell(
    response: &mut Response,
    origins: &Origins,
    asking: Option<&HeaderValue>,
    is_preflight: bool,
) {
    let headers = response.headers_mut();
    if origins.differ() {
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
    let Some(allowed) = asking.and_then(|origin| origins.answer_to(origin)) else {
        headers.remove(ACCESS_CONTROL_ALLOW_METHODS);
        return;
    };
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    if is_preflight {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    } else {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}
