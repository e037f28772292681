//! Handles requests on another runtime than that of their connections.
//!
//! A thread of a runtime that runs one task lets others wait. Connections and the intake of events have a runtime of their own,
//! so that an acknowledgement waits for no page, report or export.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use kernel::Error;
use tokio::{runtime::Handle, sync::mpsc, task::JoinSet};
use utoipa_axum::router::OpenApiRouter;

use super::ApiError;

/// Parts of an answer that wait for the connection.
const WAITING_FRAMES: usize = 2;

/// These routes, handled on this runtime.
pub fn handled_on(routes: OpenApiRouter, runtime: &Handle) -> OpenApiRouter {
    routes.layer(middleware::from_fn_with_state(runtime.clone(), dispatch))
}

/// Likewise of routes that are not described.
pub fn router_handled_on(routes: Router, runtime: &Handle) -> Router {
    routes.layer(middleware::from_fn_with_state(runtime.clone(), dispatch))
}

async fn dispatch(State(runtime): State<Handle>, request: Request, next: Next) -> Response {
    // Dropped with the request, which ends the task.
    let mut handling = JoinSet::new();
    handling.spawn_on(traces::with_active_span(next.run(request)), &runtime);
    match handling.join_next().await {
        Some(Ok(response)) => response.map(|body| forwarded(body, &runtime)),
        Some(Err(fault)) if fault.is_panic() => std::panic::resume_unwind(fault.into_panic()),
        Some(Err(_)) | None => ApiError(Error::internal("the server stops")).into_response(),
    }
}

/// A body that is made on the runtime of its handler, where it is not there already.
fn forwarded(mut body: Body, runtime: &Handle) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    let (sender, frames) = mpsc::channel(WAITING_FRAMES);
    let mut task = JoinSet::new();
    let forward = async move {
        while let Some(frame) = body.frame().await {
            if sender.send(Some(frame)).await.is_err() {
                return;
            }
        }
        // An error means that the connection is gone.
        let _ = sender.send(None).await;
    };
    task.spawn_on(forward, runtime);
    Body::new(ForwardedBody { frames, _task: task })
}

/// Frames of a body that a task makes; none is its end.
struct ForwardedBody {
    frames: mpsc::Receiver<Option<Result<Frame<Bytes>, axum::Error>>>,
    /// Ends when the body is dropped.
    _task: JoinSet<()>,
}

impl http_body::Body for ForwardedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let broken_off = || Some(Err(axum::Error::new("the answer broke off")));
        Poll::Ready(ready!(self.frames.poll_recv(context)).unwrap_or_else(broken_off))
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, thread};

    use axum::routing::get;
    use futures_util::{StreamExt as _, stream};
    use http::StatusCode;
    use tokio::runtime::Builder;
    use tower::ServiceExt as _;

    use super::*;

    fn thread_name() -> String {
        thread::current().name().unwrap_or_default().to_owned()
    }

    /// Names of threads, one after the other, without a known length.
    fn streamed(end: Result<String, &'static str>) -> Body {
        let names = stream::repeat_with(|| Ok(thread_name())).take(2);
        Body::from_stream(names.chain(stream::iter([end])))
    }

    /// What a route answers on a runtime whose threads are named `handler`.
    fn answer(path: &str) -> (StatusCode, Result<String, String>) {
        let handlers =
            Builder::new_multi_thread().worker_threads(1).thread_name("handler").build().unwrap();
        let routes = Router::new()
            .route("/whole", get(async || thread_name()))
            .route("/streamed", get(async || streamed(Ok("end".to_owned()))))
            .route("/broken", get(async || streamed(Err("broken"))))
            .route(
                "/panics-in-body",
                get(async || {
                    Body::from_stream(stream::once(async {
                        panic!("in a body");
                        #[expect(unreachable_code, reason = "the type of the stream")]
                        Ok::<String, Infallible>(String::new())
                    }))
                }),
            );
        let routes = router_handled_on(routes, handlers.handle());
        let connections = Builder::new_current_thread().build().unwrap();
        connections.block_on(async {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let response = routes.oneshot(request).await.unwrap();
            let status = response.status();
            let body = response.into_body().collect().await;
            let text = body.map(|it| String::from_utf8(it.to_bytes().to_vec()).unwrap());
            (status, text.map_err(|fault| fault.to_string()))
        })
    }

    #[test]
    fn handlers_and_their_bodies_run_on_the_other_runtime() {
        assert_eq!(answer("/whole"), (StatusCode::OK, Ok("handler".to_owned())));
        assert_eq!(answer("/streamed"), (StatusCode::OK, Ok("handlerhandlerend".to_owned())));
    }

    #[test]
    fn a_body_that_breaks_off_is_not_taken_for_whole() {
        assert_eq!(answer("/broken"), (StatusCode::OK, Err("broken".to_owned())));
        let (_, text) = answer("/panics-in-body");
        assert_eq!(text, Err("the answer broke off".to_owned()));
    }

    #[test]
    fn a_request_that_is_given_up_ends_its_handler() {
        let handlers = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (started, mut has_started) = mpsc::channel::<mpsc::Sender<()>>(1);
        let (running, mut has_ended) = mpsc::channel::<()>(1);
        let handler = async move || {
            started.send(running).await.unwrap();
            std::future::pending::<()>().await;
        };
        let routes = router_handled_on(Router::new().route("/", get(handler)), handlers.handle());
        let connections = Builder::new_current_thread().build().unwrap();
        connections.block_on(async {
            let request = routes.oneshot(Request::get("/").body(Body::empty()).unwrap());
            let running = tokio::select! {
                _ = request => unreachable!("the handler does not end"),
                running = has_started.recv() => running,
            };
            drop(running);
            // All senders are gone once the handler is.
            assert_eq!(has_ended.recv().await, None);
        });
    }
}
