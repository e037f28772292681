//! From an event to the provider that sends its message.

use std::sync::Arc;

use axum::{Json, Router, routing::post};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{body, people, track};
use crate::{
    campaigns::{call, made},
    kit::{Process, data_dir, eventually},
};

/// A gateway that takes every message and keeps it.
async fn gateway() -> (String, Arc<Mutex<Vec<Value>>>) {
    let taken = Arc::<Mutex<Vec<Value>>>::default();
    let keeps = Arc::clone(&taken);
    let router = Router::new().route(
        "/email",
        post(move |Json(message): Json<Value>| async move {
            keeps.lock().push(message);
            Json(json!({"id": "theirs"}))
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/email", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, taken)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_sent_to_the_provider_once_with_its_properties() {
    let (url, taken) = gateway().await;
    let environment = [
        ("MILLRACE_CHANNELS__EMAIL__PROVIDER", "http".to_owned()),
        ("MILLRACE_CHANNELS__EMAIL__URL", url),
        ("MILLRACE_CHANNELS__EMAIL__FROM", "Shop <shop@example.test>".to_owned()),
    ];
    let (process, key) = Process::start(&data_dir("sending-triggers"), &environment).await;
    let api = process.client(&key.expect("the first start prints a key"));
    people(&api, &["ann", "bob", "cy"]).await;
    let variant = json!({
        "id": "a", "name": "A", "weight": 100,
        "message": {
            "subject": "{{ event.name }}: {{ event.properties.plan }}",
            "html": "<p>Welcome <a href=\"{{ unsubscribe_url }}\">out</a></p>",
        },
    });
    let campaign = body(json!({"delayMinutes": 0}), json!({"variants": [variant]}));
    let campaign = made(&api, &campaign).await;
    call(&api, &campaign, "send", 200).await;
    for (count, user) in (1..).zip(["ann", "bob", "cy"]) {
        for _ in 0..2 {
            track(&api, user, &format!("e-{user}"), json!({"plan": format!("plan of {user}")}))
                .await;
        }
        eventually("the message is handed over", || async {
            (taken.lock().len() >= count).then_some(())
        })
        .await;
    }
    assert!(process.stop().await.success());
    let taken = taken.lock();
    let subjects: Vec<_> = taken
        .iter()
        .map(|message| {
            (message["to"].as_str().unwrap(), message["message"]["subject"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        subjects,
        [
            ("ann@example.test", "Signed Up: plan of ann"),
            ("bob@example.test", "Signed Up: plan of bob"),
            ("cy@example.test", "Signed Up: plan of cy"),
        ]
    );
}
