//! A server and the gateway that its messages go to.

use std::sync::Arc;

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::kit::{Client, Process, WhileUsed, data_dir, eventually, unique};

/// What the gateway was handed.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<Value>>>);

/// A running server and its gateway.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) api: Client,
    pub(crate) url: String,
    pub(crate) admin_url: String,
    /// The key that `api` speaks with.
    pub(crate) key: String,
    log: Log,
    /// Goes with the process of the tests.
    _process: Process,
}

/// An address that the gateway refuses, and one for which it is overloaded.
pub(crate) const REFUSED: &str = "refused@example.test";
pub(crate) const OVERLOADED: &str = "overloaded@example.test";

async fn called(State(log): State<Log>, Json(body): Json<Value>) -> (StatusCode, Json<Value>) {
    let to = body["to"].clone();
    log.0.lock().push(body);
    if to == REFUSED {
        (StatusCode::BAD_REQUEST, Json(json!({"code": "no_mailbox", "reason": "no such mailbox"})))
    } else if to == OVERLOADED {
        (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"code": "overloaded", "reason": "too busy"})))
    } else {
        (StatusCode::OK, Json(json!({})))
    }
}

/// A gateway on a free port, for as long as the process lives.
fn gateway(log: Log) -> String {
    let router = Router::new().route("/{channel}", post(called)).with_state(log);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
    });
    url
}

/// The server the tests of this folder share. It has no provider for Viber.
pub(crate) async fn sender() -> Arc<Sender> {
    static SENDER: WhileUsed<Sender> = WhileUsed::new();
    SENDER.get(async || start(&unique("single"), &[]).await).await
}

/// Starts a server with its data in a folder of this name, and with these settings by their variables.
pub(crate) async fn start(folder: &str, settings: &[(&'static str, String)]) -> Sender {
    let log = Log::default();
    let gateway = gateway(log.clone());
    let mut environment = settings.to_vec();
    for (provider, url, channel) in [
        ("MILLRACE_CHANNELS__EMAIL__PROVIDER", "MILLRACE_CHANNELS__EMAIL__URL", "email"),
        ("MILLRACE_CHANNELS__SMS__PROVIDER", "MILLRACE_CHANNELS__SMS__URL", "sms"),
        ("MILLRACE_CHANNELS__PUSH__PROVIDER", "MILLRACE_CHANNELS__PUSH__URL", "push"),
    ] {
        environment.push((provider, "http".to_owned()));
        environment.push((url, format!("{gateway}/{channel}")));
    }
    // The tests of a folder share one workspace.
    environment.push(("MILLRACE_RATE_LIMITS__TEST_SENDS__PER_MINUTE", "0".to_owned()));
    let (process, key) = Process::start(&data_dir(folder), &environment).await;
    let key = key.unwrap();
    let (url, admin_url) = (process.url.clone(), process.admin_url.clone());
    Sender { api: process.client(&key), url, admin_url, key, log, _process: process }
}

impl Sender {
    /// What the gateway was handed of a message.
    pub(crate) fn received(&self, message: &str) -> Vec<Value> {
        let log = self.log.0.lock();
        log.iter().filter(|call| call["messageId"] == message).cloned().collect()
    }

    /// What it was handed to an address.
    pub(crate) fn received_at(&self, to: &str) -> Vec<Value> {
        self.log.0.lock().iter().filter(|call| call["to"] == to).cloned().collect()
    }

    /// Waits for a message.
    pub(crate) async fn arrived(&self, message: &str) -> Value {
        eventually("the message arrives", async || self.received(message).pop()).await
    }

    /// A new profile with an address and a number of its own.
    pub(crate) async fn person(&self) -> Person {
        let external_id = unique("person");
        let email = format!("{external_id}@example.test");
        let number = uuid::Uuid::now_v7().as_u128() % 10_000_000_000;
        let phone = format!("+49{number:010}");
        let body = json!({
            "externalId": external_id, "email": email, "phone": phone,
            "attributes": {"firstName": "Ann", "plan": "pro"},
        });
        let made = self.api.post("/users", &body, 201).await.json();
        let id = made["id"].as_str().unwrap().to_owned();
        Person { external_id, id, email, phone }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) external_id: String,
    pub(crate) id: String,
    pub(crate) email: String,
    pub(crate) phone: String,
}
