//! Requests that a webhook's receiver gets.

use axum::{Router, extract::State, http::HeaderMap, routing::post};
use serde_json::json;
use tokio::sync::mpsc;

use super::fixture::{Cohort, sender, until};

async fn called(State(calls): State<mpsc::Sender<HeaderMap>>, headers: HeaderMap) {
    calls.send(headers).await.unwrap();
}

/// A receiver on a free port, and the headers of the requests it gets.
fn receiver() -> (String, mpsc::Receiver<HeaderMap>) {
    let (send, receive) = mpsc::channel(16);
    let router = Router::new().route("/{*path}", post(called)).with_state(send);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        axum::serve(listener, router).await.unwrap();
    });
    (url, receive)
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_webhook_headers_are_sent_decrypted_and_rendered() {
    let sender = sender().await;
    let api = &sender.api();
    let (url, mut calls) = receiver();
    let cohort = Cohort::new(api, 1, "hook").await;
    let message = json!({"url": format!("{url}/h/{{{{ user.firstName }}}}"),
        "auth": {"type": "bearer", "token": "s3cret"},
        "headers": {"X-Api-Key": "key-{{ user.firstName }}", "X-Plan": "pro"}});
    let variants = json!([{"id": "a", "name": "A", "weight": 100, "message": message}]);
    let id = cohort.send(api, &json!({"channel": "webhook", "variants": variants})).await;
    until(api, &id, "completed").await;
    // The call came before its answer, which completed the campaign.
    let headers = calls.try_recv().unwrap();
    assert_eq!(headers["authorization"], "Bearer s3cret");
    assert_eq!(headers["x-api-key"], "key-Ann");
    assert_eq!(headers["x-plan"], "pro");
}
