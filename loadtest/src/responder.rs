//! A small HTTP server for tests: one closure answers, or cuts the connection.

use std::{net::SocketAddr, sync::mpsc, thread};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Serves on a thread of its own until the test's process ends; no answer closes the connection.
pub(crate) fn serve<F, A>(answer: F) -> SocketAddr
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Option<Response<Full<Bytes>>>> + Send + 'static,
{
    let (ready, address) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            ready.send(listener.local_addr().unwrap()).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answer.clone();
                // An error of the service makes hyper close the connection without an answer.
                let service = service_fn(move |request| {
                    let answer = answer(request);
                    async move { answer.await.ok_or("cut") }
                });
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move { drop(connection.await) });
            }
        });
    });
    address.recv().unwrap()
}
