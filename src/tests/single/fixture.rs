//! A server and the gateway that its messages go to.

use std::sync::Arc;

use axum::{Json, Router, extract::State, routing::post};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::kit::{Client, Process, data_dir, eventually, unique};

/// What the gateway was handed.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<Value>>>);

/// A running server and its gateway.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) api: Client,
    pub(super) url: String,
    log: Log,
    /// Goes with the process of the tests.
    _process: Process,
}

async fn called(State(log): State<Log>, Json(body): Json<Value>) -> Json<Value> {
    log.0.lock().push(body);
    Json(json!({}))
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
pub(super) async fn sender() -> &'static Sender {
    static SENDER: OnceCell<Sender> = OnceCell::const_new();
    SENDER
        .get_or_init(|| async {
            let log = Log::default();
            let gateway = gateway(log.clone());
            let mut environment = Vec::new();
            for (provider, url, channel) in [
                ("MILLRACE_CHANNELS__EMAIL__PROVIDER", "MILLRACE_CHANNELS__EMAIL__URL", "email"),
                ("MILLRACE_CHANNELS__SMS__PROVIDER", "MILLRACE_CHANNELS__SMS__URL", "sms"),
                ("MILLRACE_CHANNELS__PUSH__PROVIDER", "MILLRACE_CHANNELS__PUSH__URL", "push"),
            ] {
                environment.push((provider, "http".to_owned()));
                environment.push((url, format!("{gateway}/{channel}")));
            }
            // The tests of this folder share one workspace.
            environment.push(("MILLRACE_RATE_LIMITS__TEST_SENDS__PER_MINUTE", "0".to_owned()));
            let (process, key) = Process::start(&data_dir("single"), &environment).await;
            let api = process.client(&key.unwrap());
            Sender { api, url: process.url.clone(), log, _process: process }
        })
        .await
}

impl Sender {
    /// What the gateway was handed of a message.
    pub(super) fn handed(&self, message: &str) -> Vec<Value> {
        let log = self.log.0.lock();
        log.iter().filter(|call| call["messageId"] == message).cloned().collect()
    }

    /// What it was handed to an address.
    pub(super) fn handed_to(&self, to: &str) -> Vec<Value> {
        self.log.0.lock().iter().filter(|call| call["to"] == to).cloned().collect()
    }

    /// Waits for a message.
    pub(super) async fn arrived(&self, message: &str) -> Value {
        eventually("the message arrives", async || self.handed(message).pop()).await
    }

    /// Somebody new, with an address and a number of their own.
    pub(super) async fn person(&self) -> Person {
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

/// Somebody.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) external_id: String,
    pub(super) id: String,
    pub(super) email: String,
    pub(super) phone: String,
}
