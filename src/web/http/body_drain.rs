//! Drains the part of a request's body that its handler did not read.
//!
//! A connection is free for its next request only after the body of this one. So a short rest is read and
//! discarded before the answer is sent. Where the rest is too long, the answer carries `Connection: close`
//! (RFC 9112, 9.6), so that pooled clients do not report a fault.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{body::Body, extract::Request, response::Response};
use bytes::Bytes;
use http::{
    HeaderValue, StatusCode,
    header::{CONNECTION, EXPECT},
};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::{sync::oneshot, time::timeout};

/// Bytes read and discarded to keep a connection open.
const REST_BYTES_MAX: usize = 256 << 10;
/// Time allowed to read them.
const REST_MAX: Duration = Duration::from_secs(1);

/// Receives what is left of the body when the handler drops it.
#[derive(Debug)]
pub(super) struct BodyDrain {
    rest: oneshot::Receiver<Body>,
    /// The client sent `Expect: 100-continue`. Reading would ask it to send the body.
    expects_continue: bool,
}

/// Wraps a request's body so that its rest can be drained; `None` where there is no body.
pub(super) fn watch(request: Request) -> (Request, Option<BodyDrain>) {
    if request.body().is_end_stream() {
        return (request, None);
    }
    let (sender, rest) = oneshot::channel();
    let expects_continue = request.headers().contains_key(EXPECT);
    let returned = |body| Body::new(ReturnedBody { body: Some(body), sender: Some(sender) });
    (request.map(returned), Some(BodyDrain { rest, expects_continue }))
}

impl BodyDrain {
    /// Reads the rest, or adds `Connection: close` to the response.
    pub(super) async fn settle(mut self, response: &mut Response) {
        // Empty when the body was read to its end, or is still in use.
        let Ok(body) = self.rest.try_recv() else { return };
        let has_stalled = response.status() == StatusCode::REQUEST_TIMEOUT;
        if self.expects_continue || has_stalled || !is_drained(body).await {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Reads the rest of a body; false when it is too long or too slow.
async fn is_drained(mut body: Body) -> bool {
    let rest = async {
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            bytes += frame.ok()?.data_ref().map_or(0, Bytes::len);
            if bytes > REST_BYTES_MAX {
                return None;
            }
        }
        Some(())
    };
    timeout(REST_MAX, rest).await.ok().flatten().is_some()
}

/// A body that is sent to its [`BodyDrain`] when it is dropped before its end.
struct ReturnedBody {
    body: Option<Body>,
    sender: Option<oneshot::Sender<Body>>,
}

impl http_body::Body for ReturnedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(http_body::Body::size_hint).unwrap_or_default()
    }
}

impl Drop for ReturnedBody {
    fn drop(&mut self) {
        let rest = self.body.take().filter(|body| !body.is_end_stream());
        if let (Some(body), Some(sender)) = (rest, self.sender.take()) {
            // Fails when the connection is gone, and then does not matter.
            drop(sender.send(body));
        }
    }
}
