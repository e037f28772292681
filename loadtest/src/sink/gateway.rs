//! The generic gateway: takes every message with 200.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::Log;

/// Answers the requests of a connection.
pub(super) async fn answer(stream: TcpStream, log: Arc<Log>) {
    let service = service_fn(move |request| {
        let log = Arc::clone(&log);
        async move { Ok::<_, Infallible>(taken(request, &log).await) }
    });
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

async fn taken(request: Request<Incoming>, log: &Log) -> Response<Full<Bytes>> {
    let key = request.headers().get("idempotency-key");
    let id = key.and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
    let Ok(body) = request.into_body().collect().await else { return Response::default() };
    log.take(id, body.to_bytes().len());
    Response::new(Full::new(Bytes::from_static(b"{}")))
}
