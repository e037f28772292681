//! A server in a provider's place: it checks each request and answers as the provider would.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};
use http::{HeaderMap, Method};
use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// What is answered to it.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
    is_never: bool,
}

#[derive(Debug)]
pub(super) struct Simulator {
    pub(super) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(super) fn form(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(&self.body).into_owned().collect()
    }
}

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string(), is_never: false }
    }

    pub(super) fn text(status: u16, body: &str) -> Self {
        Self { status, headers: Vec::new(), body: body.to_owned(), is_never: false }
    }

    /// No answer, while the connection stands.
    pub(super) fn never() -> Self {
        Self { is_never: true, ..Self::text(200, "") }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The service that answers by `respond` and keeps what it saw.
pub(super) fn router(
    seen: &Arc<Mutex<Vec<Seen>>>,
    respond: impl Fn(&Seen) -> Reply + Clone + Send + Sync + 'static,
) -> Router {
    let seen = Arc::clone(seen);
    Router::new().fallback(move |request: Request<Body>| {
        let (seen, respond) = (Arc::clone(&seen), respond.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let (method, path) = (head.method, head.uri.path().to_owned());
            let request = Seen { method, path, headers: head.headers, body };
            let reply = respond(&request);
            seen.lock().unwrap().push(request);
            if reply.is_never {
                tokio::time::sleep(Duration::from_mins(1)).await;
            }
            let mut response = Response::builder().status(reply.status);
            for (name, value) in reply.headers {
                response = response.header(name, value);
            }
            response.body(Body::from(reply.body)).unwrap()
        }
    })
}

impl Simulator {
    pub(super) async fn start(
        respond: impl Fn(&Seen) -> Reply + Clone + Send + Sync + 'static,
    ) -> Self {
        let seen = Arc::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = router(&seen, respond);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen }
    }

    /// One whose requests go into the caller's `seen`.
    pub(super) fn at(url: String, seen: Arc<Mutex<Vec<Seen>>>) -> Self {
        Self { url, seen }
    }

    /// What came since the last question.
    pub(super) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}
