//! An HTTP client that checks every answer against an expected status and the OpenAPI description.

use std::fmt::Display;

use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::Value;

use super::{
    described::{self, Seen},
    eventually,
    server::server,
};

/// Speaks to the test server with one credential.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// An answer whose status was the expected one.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// The strings of `errors`, empty where the answer has none.
    pub(crate) fn errors(&self) -> Vec<String> {
        let errors = self.json()["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|error| error.as_str().unwrap().to_owned()).collect()
    }
}

impl Client {
    pub(crate) fn new(base: &str, token: Option<&str>) -> Self {
        let token = token.map(str::to_owned);
        // A connection lives on the runtime of the test that made it: kept for the next request, it would end with
        // that test under another one that shares the client.
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        Self { http, base: base.to_owned(), token }
    }

    /// Speaks to the shared server without a credential.
    pub(crate) fn anonymous() -> Self {
        Self::new(&server().url, None)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Sends a request and fails the test when the status is not the expected one.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder, expected: u16) -> Answer {
        let (status, answer) = answered(request).await;
        assert_eq!(status, StatusCode::from_u16(expected).unwrap(), "{}", answer.text);
        answer
    }

    pub(crate) async fn get(&self, path: impl Display, expected: u16) -> Answer {
        self.send(self.request(Method::GET, &path.to_string()), expected).await
    }

    /// Asks until the stores are back that the answer needs. That the server is ready does not say so of one that
    /// died just now: a store is looked at every half second.
    pub(crate) async fn get_when_back(&self, path: &str) -> Answer {
        eventually("the stores are back", || async {
            let (status, answer) = answered(self.request(Method::GET, path)).await;
            if status == StatusCode::SERVICE_UNAVAILABLE {
                return None;
            }
            assert_eq!(status, StatusCode::OK, "{}", answer.text);
            Some(answer)
        })
        .await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value, expected: u16) -> Answer {
        self.send(self.request(Method::POST, path).json(body), expected).await
    }

    /// Posts bytes as they are, said to be JSON.
    pub(crate) async fn post_bytes(
        &self,
        path: &str,
        body: impl Into<Vec<u8>>,
        expected: u16,
    ) -> Answer {
        let request = self.request(Method::POST, path).header("content-type", "application/json");
        self.send(request.body(body.into()), expected).await
    }
}

async fn answered(request: reqwest::RequestBuilder) -> (StatusCode, Answer) {
    let (http, request) = request.build_split();
    let request = request.unwrap();
    let (method, path) = (request.method().clone(), request.url().path().to_owned());
    let answer = http.execute(request).await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let text = answer.text().await.unwrap();
    described::require_described(Seen {
        method: &method,
        path: &path,
        status,
        headers: &headers,
        text: &text,
    });
    (status, Answer { headers, text })
}
