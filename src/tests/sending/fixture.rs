//! A server whose channels lead to a gateway of the test, which logs its calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::IntoResponse,
    routing::post,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::kit::{Client, Process, WhileUsed, data_dir, eventually, unique};

/// A call of the gateway.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The path it came in by.
    pub(crate) by: String,
    pub(super) message: String,
    pub(crate) external_id: String,
    pub(super) campaign: String,
    pub(super) variant: String,
    /// What the message says: the HTML of an email, the body of others.
    pub(super) text: String,
    /// Whether it was answered that the message will be carried.
    pub(super) is_taken: bool,
    pub(super) at: std::time::Instant,
}

/// Calls a gateway received, recipients it refuses, and recipients it answers late.
#[derive(Debug, Default)]
struct Seen {
    calls: Vec<Call>,
    refused: BTreeMap<String, StatusCode>,
    kept_waiting: BTreeMap<String, Duration>,
    held: BTreeSet<String>,
    released: Arc<Notify>,
}

/// Every call so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Seen>>);

impl Log {
    /// The calls for a campaign.
    pub(crate) fn of(&self, campaign: &str) -> Vec<Call> {
        self.0.lock().calls.iter().filter(|call| call.campaign == campaign).cloned().collect()
    }

    /// Has calls for these people answered so from now on.
    pub(super) fn refuse(&self, ids: impl IntoIterator<Item = String>, with: StatusCode) {
        self.0.lock().refused.extend(ids.into_iter().map(|id| (id, with)));
    }

    /// Has calls for these people taken again.
    pub(super) fn take(&self, ids: &[String]) {
        self.0.lock().refused.retain(|id, _| !ids.contains(id));
    }

    /// Has calls for these people answered no sooner than after so long from now on; after nothing, at once.
    pub(super) fn delay(&self, ids: &[String], time: Duration) {
        self.0.lock().kept_waiting.extend(ids.iter().map(|id| (id.clone(), time)));
    }

    /// Has calls for these people answered no sooner than they are let go.
    pub(crate) fn hold(&self, ids: &[String]) {
        self.0.lock().held.extend(ids.iter().cloned());
    }

    /// Has calls for these people answered, those that are held and those that come.
    pub(crate) fn release(&self, ids: &[String]) {
        let mut seen = self.0.lock();
        seen.held.retain(|id| !ids.contains(id));
        seen.released.notify_waiters();
    }

    /// Waits until calls for a recipient are not held any more.
    async fn released(&self, id: &str) {
        loop {
            let released = Arc::clone(&self.0.lock().released);
            let next = released.notified();
            if !self.0.lock().held.contains(id) {
                return;
            }
            next.await;
        }
    }

    /// How many messages of a campaign were taken.
    pub(super) fn taken_count(&self, campaign: &str) -> usize {
        self.of(campaign).iter().filter(|call| call.is_taken).count()
    }

    /// Recipients whose message of a campaign was accepted; fails where one had two.
    pub(super) fn taken(&self, campaign: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for call in self.of(campaign).into_iter().filter(|call| call.is_taken) {
            assert!(all.insert(call.external_id.clone()), "{} got two", call.external_id);
        }
        all
    }

    /// Recipients called for a campaign; fails where one was called twice.
    pub(crate) fn once(&self, campaign: &str) -> BTreeSet<String> {
        let calls = self.of(campaign);
        let mut counts = BTreeMap::<&str, u32>::new();
        for call in &calls {
            *counts.entry(&call.external_id).or_default() += 1;
        }
        let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "called more than once: {twice:?}");
        calls.into_iter().map(|call| call.external_id).collect()
    }
}

async fn called(
    State(log): State<Log>,
    Path(by): Path<String>,
    Json(body): Json<Value>,
) -> axum::response::Response {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let content = body["message"].get("html").unwrap_or(&body["message"]["body"]);
    let (to, message, external_id) = (text("to"), text("messageId"), text("externalId"));
    let (answer, wait) = {
        let mut seen = log.0.lock();
        let slow = if to.starts_with("slow") { Duration::from_millis(150) } else { Duration::ZERO };
        let wait = seen.kept_waiting.get(&external_id).copied().unwrap_or(slow);
        let is_first = || seen.calls.iter().all(|call| call.message != message);
        let answer = match seen.refused.get(&external_id) {
            Some(with) => Some(*with),
            None if to.starts_with("refused") => Some(StatusCode::BAD_REQUEST),
            None if to.starts_with("busy") && is_first() => Some(StatusCode::TOO_MANY_REQUESTS),
            None => None,
        };
        seen.calls.push(Call {
            by,
            message: message.clone(),
            external_id: external_id.clone(),
            campaign: text("campaignId"),
            variant: text("variantId"),
            text: content.as_str().unwrap_or_default().to_owned(),
            is_taken: answer.is_none(),
            at: std::time::Instant::now(),
        });
        (answer, wait)
    };
    tokio::time::sleep(wait).await;
    log.released(&external_id).await;
    match answer {
        Some(busy @ StatusCode::TOO_MANY_REQUESTS) => {
            (busy, [("retry-after", "2")], "busy").into_response()
        }
        Some(refusal) => (refusal, "not this one").into_response(),
        None => Json(json!({"id": format!("gateway-{message}")})).into_response(),
    }
}

/// A gateway on a free port, for as long as the process lives.
pub(crate) fn gateway() -> (String, Log) {
    let log = Log::default();
    let router = Router::new().route("/{channel}", post(called)).with_state(log.clone());
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
    (url, log)
}

/// The settings of a server that sends by this gateway.
pub(crate) fn environment(gateway: &str) -> Vec<(&'static str, String)> {
    vec![
        ("MILLRACE_CHANNELS__EMAIL__PROVIDER", "http".to_owned()),
        ("MILLRACE_CHANNELS__EMAIL__URL", format!("{gateway}/email")),
        ("MILLRACE_CHANNELS__SMS__PROVIDER", "http".to_owned()),
        ("MILLRACE_CHANNELS__SMS__URL", format!("{gateway}/sms")),
        ("MILLRACE_CHANNELS__PUSH__PROVIDER", "http".to_owned()),
        ("MILLRACE_CHANNELS__PUSH__URL", format!("{gateway}/push")),
        ("MILLRACE_SECURITY__ALLOW_PRIVATE_WEBHOOK_TARGETS", "true".to_owned()),
        ("MILLRACE_DELIVERY__CAPS__PUSH__MAX", "1".to_owned()),
        ("MILLRACE_DELIVERY__CAPS__PUSH__HOURS", "24".to_owned()),
    ]
}

/// The settings of one more server on the stores of one that runs in this folder.
pub(crate) fn beside(folder: &std::path::Path) -> [(&'static str, String); 2] {
    let clickhouse = std::fs::read_to_string(folder.join("clickhouse.url")).unwrap();
    let postgres = folder.join("postgres").display().to_string();
    let database = format!("postgres://millrace@localhost:5432/millrace?host={postgres}");
    [("DATABASE_URL", database), ("CLICKHOUSE_URL", clickhouse.trim().to_owned())]
}

/// A running server and its gateway.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) log: Log,
    key: String,
    process: Process,
}

impl Sender {
    /// A client of the caller's own: connections end with the test that made them.
    pub(crate) fn api(&self) -> Client {
        self.process.client(&self.key)
    }
}

/// The server the tests of this folder share.
pub(crate) async fn sender() -> Arc<Sender> {
    static SENDER: WhileUsed<Sender> = WhileUsed::new();
    SENDER
        .get(async || {
            let (url, log) = gateway();
            let folder = data_dir(&unique("sending"));
            let (process, key) = Process::start(&folder, &environment(&url)).await;
            Sender { log, key: key.unwrap(), process }
        })
        .await
}

/// People of one test: they share an attribute, and their addresses begin as the test wants it.
#[derive(Debug)]
pub(crate) struct Cohort {
    pub(super) name: String,
    pub(super) ids: Vec<String>,
}

impl Cohort {
    /// So many people with email addresses that begin so.
    pub(crate) async fn new(api: &Client, count: usize, address: &str) -> Self {
        let name = unique("cohort");
        let ids: Vec<String> = (0..count).map(|n| format!("{name}-{n}")).collect();
        for part in ids.chunks(1000) {
            let users: Value = part.iter().map(|id| Self::person(&name, id, address)).collect();
            let answer = api.post("/users", &users, 200).await.json();
            assert_eq!(answer["created"], part.len(), "{answer}");
        }
        Self { name, ids }
    }

    fn person(cohort: &str, id: &str, address: &str) -> Value {
        json!({
            "externalId": id, "email": format!("{address}-{id}@example.test"),
            "attributes": {"cohort": cohort, "firstName": "Ann"},
        })
    }

    /// One more of them.
    pub(super) async fn join(&mut self, api: &Client) -> String {
        let id = format!("{}-{}", self.name, self.ids.len());
        let users = json!([Self::person(&self.name, &id, "late")]);
        api.post("/users", &users, 200).await;
        self.ids.push(id.clone());
        id
    }

    /// A campaign to all of them.
    pub(super) fn campaign(&self, fields: &Value) -> Value {
        let mut body = json!({
            "name": self.name, "channel": "email",
            "targeting": {"filterGroups": [{"filters": [{
                "type": "attribute", "field": "cohort", "operator": "equals", "value": self.name,
            }]}]},
            "variants": [{
                "id": "a", "name": "A", "weight": 100,
                "message": {
                    "subject": "Hello {{ user.firstName }}",
                    "html": "<p>Hello <a href=\"{{ unsubscribe_url }}\">out</a></p>",
                },
            }],
        });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    }

    /// Makes a campaign and launches it.
    pub(crate) async fn send(&self, api: &Client, fields: &Value) -> String {
        let made = api.post("/campaigns", &self.campaign(fields), 201).await.json();
        let id = made["id"].as_str().unwrap().to_owned();
        call(api, &id, "send").await;
        id
    }

    /// The ids at these places.
    pub(crate) fn at(&self, places: std::ops::Range<usize>) -> BTreeSet<String> {
        self.ids[places].iter().cloned().collect()
    }
}

/// One of the calls without a body.
pub(super) async fn call(api: &Client, campaign: &str, suffix: &str) -> Value {
    let path = format!("/campaigns/{campaign}/{suffix}");
    api.send(api.request(reqwest::Method::POST, &path), 200).await.json()
}

/// Waits until a campaign has this status.
pub(crate) async fn until(api: &Client, campaign: &str, status: &str) -> Value {
    eventually(&format!("{campaign} is {status}"), async || {
        let found = api.get(format!("/campaigns/{campaign}"), 200).await.json();
        (found["status"] == status).then_some(found)
    })
    .await
}

/// The internal id of a profile.
pub(super) async fn internal(api: &Client, external: &str) -> String {
    let user = api.get(format!("/users/by-user-id/{external}"), 200).await.json();
    user["id"].as_str().unwrap().to_owned()
}

/// Sets a profile's consent to a channel.
pub(crate) async fn consent(api: &Client, external: &str, channel: &str, status: &str) {
    let id = internal(api, external).await;
    let path = format!("/subscriptions/contacts/{id}/channels/{channel}");
    let body = json!({"channel": channel, "status": status});
    api.send(api.request(reqwest::Method::PUT, &path).json(&body), 200).await;
}
