//! The protocols of Segment, RudderStack and PostHog: their SDKs send here with a change of host. The routes are not in
//! the OpenAPI document, since those SDKs define their forms. What a call becomes is in [`ingest::admit::calls`].

mod body;
mod pixel;
mod posthog;
mod receive;
mod remote_config;
mod segment;
mod settings;
mod source_config;

pub(crate) use self::{
    receive::is_with_write_key,
    segment::{Received, track},
};

use axum::{
    Router,
    extract::Request,
    middleware::{self, Next},
    response::Response,
};
use utoipa_axum::router::OpenApiRouter;
use web::http::ErrorWithCode;

use crate::SdkState;

/// A route, with the method that pages may call it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenRoute {
    pub(crate) path: &'static str,
    pub(crate) methods: &'static str,
}

/// The routes of all protocols, but for `POST /v1/track`, which apps use as well.
pub(crate) fn routes() -> OpenApiRouter<SdkState> {
    let routes = Router::new()
        .merge(segment::routes())
        .merge(pixel::routes())
        .merge(settings::routes())
        .merge(source_config::routes())
        .merge(posthog::routes())
        .merge(remote_config::routes())
        .layer(middleware::from_fn(async |request: Request, next: Next| {
            with_code(next.run(request).await)
        }));
    OpenApiRouter::from(routes)
}

/// Their paths and methods.
pub(crate) fn open_routes() -> Vec<OpenRoute> {
    let post = |path| OpenRoute { path, methods: "POST" };
    let get = |path| OpenRoute { path, methods: "GET" };
    segment::PATHS
        .iter()
        .map(|route| post(route.path))
        .chain([segment::TELEMETRY, segment::BEACON].map(post))
        .chain(posthog::PATHS.iter().copied().map(post))
        .chain(pixel::PATHS.iter().map(|route| get(route.path)))
        .chain([get(settings::PATH)])
        .chain(source_config::PATHS.map(get))
        .chain(remote_config::PATHS.map(get))
        .collect()
}

/// Adds the status to the body of an error, which SDKs read.
pub(crate) fn with_code(mut response: Response) -> Response {
    response.extensions_mut().insert(ErrorWithCode);
    response
}
