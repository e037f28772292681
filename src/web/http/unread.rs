//! What a handler left unread of a request's body.
//!
//! A connection can carry its next request only when this one's body is through. So a short rest is
//! read and thrown away before the answer goes out; where that is too much, the answer says that the
//! connection closes (RFC 9112, 9.6), and no pooled client takes it for a fault.

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

/// Bytes that are read for the sake of the connection.
const REST_BYTES_MAX: usize = 256 << 10;
/// How long is waited for them.
const REST_MAX: Duration = Duration::from_secs(1);

/// Gets the body back when the handler is done with it.
#[derive(Debug)]
pub(super) struct Unread {
    back: oneshot::Receiver<Body>,
    /// The sender waits to be told to go on: who does not tell it must not read.
    is_held_back: bool,
}

/// Lends a request's body to its handler; nothing to get back where there is none.
pub(super) fn lend(request: Request) -> (Request, Option<Unread>) {
    if request.body().is_end_stream() {
        return (request, None);
    }
    let (sender, back) = oneshot::channel();
    let is_held_back = request.headers().contains_key(EXPECT);
    let lent = |body| Body::new(Lent { body: Some(body), sender: Some(sender) });
    (request.map(lent), Some(Unread { back, is_held_back }))
}

impl Unread {
    /// Reads the rest, or says on the response that the connection closes.
    pub(super) async fn settle(mut self, response: &mut Response) {
        // Empty when it was read to its end, or when somebody still holds it.
        let Ok(body) = self.back.try_recv() else { return };
        let has_stalled = response.status() == StatusCode::REQUEST_TIMEOUT;
        if self.is_held_back || has_stalled || !is_through(body).await {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Whether the rest of a body was short enough to be read.
async fn is_through(mut body: Body) -> bool {
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

/// A body that is given back when it is dropped before its end.
struct Lent {
    body: Option<Body>,
    sender: Option<oneshot::Sender<Body>>,
}

impl http_body::Body for Lent {
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

impl Drop for Lent {
    fn drop(&mut self) {
        let rest = self.body.take().filter(|body| !body.is_end_stream());
        if let (Some(body), Some(sender)) = (rest, self.sender.take()) {
            // Nobody waits for it when the connection is gone.
            drop(sender.send(body));
        }
    }
}
