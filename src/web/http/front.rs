//! The outermost service: request id, metrics and log around the error envelope, the envelope around the
//! handling of panics, and that around the router.

use std::{
    any::Any,
    convert::Infallible,
    net::IpAddr,
    panic::AssertUnwindSafe,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    Router,
    extract::{MatchedPath, Request},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use kernel::{Clock, Error};
use tower::{BoxError, Service, ServiceExt as _};
use traces::Span;

use super::{
    body_drain, envelope,
    observe::Observer,
    request_id::{RequestId, X_REQUEST_ID},
    requester::Peer,
};
use crate::http::ApiError;

/// Wraps a finished router into the service that a listener serves.
pub fn front(router: Router, clock: Clock) -> Front {
    let router = router
        .fallback(async || ApiError(Error::RouteNotFound))
        .method_not_allowed_fallback(async || ApiError(Error::MethodNotAllowed))
        .layer(middleware::from_fn(mark_and_catch));
    Front { router: router.with_state(()), clock, observer: Observer::new(), peer: None }
}

/// The service a listener serves. Cloned for every connection.
#[derive(Debug, Clone)]
pub struct Front {
    router: Router,
    clock: Clock,
    observer: Observer,
    peer: Option<Peer>,
}

impl Front {
    /// The clock of the timestamps in answers.
    pub(super) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// The same service for one connection, from this address.
    pub(super) fn of_peer(mut self, address: IpAddr) -> Self {
        self.peer = Some(Peer(address));
        self
    }

    pub async fn answer(self, request: Request) -> Response {
        let span = traces::request(request.headers());
        span.around(self.answer_within(request, &span)).await
    }

    async fn answer_within(self, mut request: Request, span: &Span) -> Response {
        let id = RequestId::of(request.headers());
        let uri = request.uri().clone();
        let path = uri.path_and_query().map_or(uri.path(), |both| both.as_str());
        let observed = self.observer.begin(request.method());
        request.extensions_mut().insert(id.clone());
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        // A path segment with a NUL cannot match anything; PostgreSQL would fail on it.
        let response = if uri.path().contains("%00") {
            ApiError(Error::RouteNotFound).into_response()
        } else {
            let (request, drain) = body_drain::watch(request);
            let mut response = match self.router.oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            if let Some(drain) = drain {
                drain.settle(&mut response).await;
            }
            response
        };
        let mut response = envelope::seal(response, path, self.clock.now()).await;
        response.headers_mut().insert(X_REQUEST_ID, id.header());
        observed.end(&response, &id, span);
        response
    }
}

impl<B> Service<http::Request<B>> for Front
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let answer = self.clone().answer(request.map(axum::body::Body::new));
        Box::pin(async move { Ok(answer.await) })
    }
}

/// Runs inside the router, where the matched route is known: adds it to the response, and turns a panic of the
/// handler into an error.
async fn mark_and_catch(request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => {
            ApiError(Error::internal(format!("panic: {}", text_of(&*panic)))).into_response()
        }
    };
    if let Some(matched) = matched {
        response.extensions_mut().insert(matched);
    }
    response
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "without a text"
    }
}
