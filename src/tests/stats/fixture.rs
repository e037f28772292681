//! Campaigns, people, message events and tracked events, and short queries of reports.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{LazyLock, Mutex},
};

use ingest::record::{MessageEvent, MessageKind};
use kernel::Clock;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use web::auth::{
    KeyKind,
    keys::{self, NewKey},
};

use crate::{
    campaigns::{email_with, id, made},
    kit::{Client, Workspace, eventually, server, unique},
};

/// Milliseconds of an hour.
pub(crate) const H: i64 = 3_600_000;

/// An event of a message.
#[derive(Debug, Clone)]
pub(crate) struct TestMessageEvent {
    pub(super) campaign: Uuid,
    pub(super) kind: MessageKind,
    pub(super) user: String,
    pub(super) occurrence: u32,
    pub(super) at_ms: i64,
    pub(super) event_id: String,
    pub(super) variant: String,
    pub(super) is_bot: bool,
    pub(super) is_test: bool,
    pub(super) url: String,
    pub(super) label: String,
    pub(super) code: String,
    pub(super) reason: String,
    /// Of an in-app message: where it was shown, and the button pressed there.
    pub(super) platform: &'static str,
    pub(super) button: &'static str,
}

/// An event of the first message of variant `a` to a person.
pub(crate) fn message_event(
    campaign: Uuid,
    user: &str,
    kind: MessageKind,
    at_ms: i64,
) -> TestMessageEvent {
    let is_once = !matches!(kind, MessageKind::Opened | MessageKind::Clicked | MessageKind::Held);
    TestMessageEvent {
        campaign,
        kind,
        user: user.to_owned(),
        occurrence: 1,
        at_ms,
        event_id: if is_once { String::new() } else { unique("e") },
        variant: "a".to_owned(),
        is_bot: false,
        is_test: false,
        url: String::new(),
        label: String::new(),
        code: String::new(),
        reason: String::new(),
        platform: "",
        button: "",
    }
}

impl TestMessageEvent {
    pub(super) fn message(&self) -> Uuid {
        let name = format!("{}:{}:{}", self.campaign, self.occurrence, self.user);
        Uuid::from_slice(&Sha256::digest(name)[..16]).unwrap()
    }

    pub(crate) fn of(mut self, variant: &str) -> Self {
        variant.clone_into(&mut self.variant);
        self
    }

    pub(crate) fn nth(mut self, occurrence: u32) -> Self {
        self.occurrence = occurrence;
        self
    }

    pub(crate) fn because(mut self, code: &str, reason: &str) -> Self {
        code.clone_into(&mut self.code);
        reason.clone_into(&mut self.reason);
        self
    }

    pub(crate) fn on(mut self, url: &str) -> Self {
        url.clone_into(&mut self.url);
        self
    }

    /// Of an in-app message on the web.
    pub(crate) fn in_app(mut self, button: &'static str, event_id: &str) -> Self {
        (self.platform, self.button) = ("web", button);
        event_id.clone_into(&mut self.event_id);
        self
    }

    /// What of it is kept in one row a message, if anything is: of tests and without a campaign nothing.
    fn bit(&self) -> Option<(Uuid, u8, bool)> {
        if self.is_test || self.campaign.is_nil() {
            return None;
        }
        let is_apart = match self.kind {
            MessageKind::Held | MessageKind::Deferred | MessageKind::Dismissed => return None,
            MessageKind::Opened | MessageKind::Clicked => self.is_bot,
            MessageKind::Failed => self.code == "unknown",
            _ => false,
        };
        Some((self.message(), self.kind as u8, is_apart))
    }

    fn event(&self) -> MessageEvent<'_> {
        MessageEvent {
            campaign_id: self.campaign,
            kind: self.kind,
            user_id: &self.user,
            message_id: self.message(),
            event_id: &self.event_id,
            timestamp_ms: self.at_ms,
            occurrence: self.occurrence,
            variant_id: &self.variant,
            channel: if self.platform.is_empty() { "email" } else { "in_app" },
            is_bot: self.is_bot,
            is_test: self.is_test,
            url: &self.url,
            label: &self.label,
            code: &self.code,
            reason: &self.reason,
            platform: self.platform,
            button_id: self.button,
            ..MessageEvent::default()
        }
    }
}

/// Appends the events, and waits until they can be queried.
pub(crate) async fn publish(workspace: &Workspace, all: &[TestMessageEvent]) {
    let (own, id) = (all.to_vec(), workspace.id.uuid());
    server()
        .with(|app| async move {
            let events: Vec<MessageEvent<'_>> = own.iter().map(TestMessageEvent::event).collect();
            app.intake()
                .append_message_events(id, &events, Clock::system().now().millis())
                .await
                .unwrap();
        })
        .await;
    let (keys, bits) = {
        let mut known = KNOWN.lock().unwrap();
        let (keys, bits) = known.entry(id).or_default();
        keys.extend(all.iter().map(|it| (it.message(), it.kind as u8, it.event_id.clone())));
        bits.extend(all.iter().filter_map(TestMessageEvent::bit));
        (keys.len() as u64, bits.len() as u64)
    };
    // What is put together of them is there an instant later than they are.
    eventually("the events can be queried", || async {
        let count = |sql: &'static str| {
            server().with(move |app| async move {
                app.analytics().client().query(sql).bind(id).fetch_one::<u64>().await.unwrap()
            })
        };
        let stored = count(
            "SELECT uniqExact(campaign_id, type, message_id, event_id) FROM message_events WHERE workspace_id = ?",
        );
        let outcomes = count(
            "SELECT sum(bitCount(happened)) FROM message_outcomes FINAL WHERE workspace_id = ?",
        );
        (stored.await >= keys && outcomes.await >= bits).then_some(())
    })
    .await;
}

/// Events published so far in each workspace of these tests, and the outcome bits they make.
type Known = (BTreeSet<(Uuid, u8, String)>, BTreeSet<(Uuid, u8, bool)>);
static KNOWN: LazyLock<Mutex<HashMap<Uuid, Known>>> = LazyLock::new(Mutex::default);

/// A workspace whose currency is the euro.
pub(crate) async fn in_euros() -> Workspace {
    let name = unique("workspace");
    let (db, workspace) = (server().db(), name.clone());
    let (token, id) = server()
        .on(async move {
            let key = NewKey {
                workspace,
                organization: None,
                scopes: "*".parse().unwrap(),
                label: None,
                currency: Some("EUR".to_owned()),
                country: None,
                kind: KeyKind::Api,
            };
            let created = keys::create(&db, Clock::system().now(), key).await.unwrap();
            (created.token.expose_secret().to_owned(), created.workspace)
        })
        .await;
    Workspace::known(name, id, Client::new(&server().url, Some(&token)))
}

/// A new profile: its external and its internal id.
pub(crate) async fn person(workspace: &Workspace) -> (String, String) {
    let external = unique("u");
    let body = json!({"externalId": external, "email": format!("{external}@example.test")});
    let made = workspace.api.post("/users", &body, 201).await.json();
    (external, made["id"].as_str().unwrap().to_owned())
}

/// A variant of this id and weight.
pub(crate) fn variant(id: &str, weight: u32, is_control: bool) -> Value {
    if is_control {
        return json!({"id": id, "name": id.to_uppercase(), "weight": weight, "isControlGroup": true});
    }
    json!({
        "id": id, "name": id.to_uppercase(), "weight": weight,
        "message": {"subject": "Hello", "html": "<p>Hello {{ unsubscribe_url }}</p>"},
    })
}

/// A campaign that ran, with these fields.
pub(crate) async fn campaign(workspace: &Workspace, fields: Value) -> Uuid {
    let body = email_with(&unique("campaign"), fields);
    let made = made(&workspace.api, &body).await;
    let campaign: Uuid = id(&made).parse().unwrap();
    let (db, workspace) = (server().db(), workspace.id.uuid());
    server()
        .on(async move {
            sqlx::query("update campaign set ran = true where workspace_id = $1 and id = $2")
                .bind(workspace)
                .bind(campaign)
                .execute(&db)
                .await
                .unwrap();
        })
        .await;
    campaign
}

/// Stores the end of an A/B test, whose messages the test itself has made.
pub(super) async fn conclude(workspace: &Workspace, campaign: Uuid, ab: Value) {
    let (db, workspace) = (server().db(), workspace.id.uuid());
    server()
        .on(async move {
            sqlx::query("update campaign set ab = $3 where workspace_id = $1 and id = $2")
                .bind(workspace)
                .bind(campaign)
                .bind(ab)
                .execute(&db)
                .await
                .unwrap();
        })
        .await;
}

/// Tracks events, and waits until the workspace has so many.
pub(crate) async fn track(workspace: &Workspace, events: &[Value], total: usize) {
    for some in events.chunks(500) {
        workspace.api.post("/events/track", &json!(some), 200).await;
    }
    let id = workspace.id.uuid();
    eventually("the events can be queried", || async {
        let newest = workspace.api.get("/events/query?limit=1000", 200).await.json();
        let sql = "SELECT count() FROM events FINAL WHERE workspace_id = ?";
        let stored = workspace.server.with(async move |app| {
            app.analytics().client().query(sql).bind(id).fetch_one::<usize>().await.unwrap()
        });
        let is_listed = newest.as_array().unwrap().len() >= total.min(1000);
        (is_listed && stored.await >= total).then_some(())
    })
    .await;
}

/// A report of a campaign.
pub(super) async fn report(workspace: &Workspace, campaign: Uuid, of: &str) -> Value {
    workspace.api.get(format!("/campaigns/{campaign}/{of}"), 200).await.json()
}

/// A time so many hours after midnight of a day about a fortnight ago, which is one day for all tests of this process.
pub(crate) fn hour(hours: i64) -> i64 {
    static MIDNIGHT: LazyLock<i64> = LazyLock::new(|| {
        let now = Clock::system().now().millis();
        (now - now % (24 * H)) - 14 * 24 * H
    });
    *MIDNIGHT + hours * H
}

/// A moment as callers write it.
pub(crate) fn iso(at_ms: i64) -> String {
    kernel::Timestamp::from_millis(at_ms).to_string()
}

/// Whether a number is as expected.
pub(super) fn near(value: &Value, expected: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - expected).abs() < 1e-6)
}
