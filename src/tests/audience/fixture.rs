//! Profiles with every property a targeting can filter on, and short queries.

use std::collections::BTreeSet;

use audience::{
    AudienceState,
    model::{AudienceQuery, Measured, Reached, Targeting},
    ops,
};
use chrono::{DateTime, Duration, SecondsFormat, Utc};
use kernel::{Channel, Clock, ListId, UserId, WorkspaceId};
use millrace::app::App;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::kit::{Workspace, eventually, server};

/// An event a person did.
#[derive(Debug, Clone)]
pub(crate) struct TrackedEvent {
    pub(crate) name: &'static str,
    pub(crate) at: DateTime<Utc>,
    pub(crate) properties: Value,
    /// By which identifiers it is tracked: `external`, `internal`, `both`, or `internal as userId`.
    pub(crate) tracked_by: &'static str,
}

/// A profile, what it consented to and what it did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Person {
    pub(crate) id: String,
    pub(crate) external_id: Option<String>,
    pub(crate) email: Option<String>,
    pub(crate) phone: Option<String>,
    pub(crate) attributes: Map<String, Value>,
    pub(crate) channels: Vec<(&'static str, &'static str)>,
    /// List, channel and status.
    pub(crate) lists: Vec<(String, &'static str, &'static str)>,
    pub(crate) tracked_events: Vec<TrackedEvent>,
}

impl Person {
    /// A profile with an external id and these attributes.
    pub(crate) fn with(external_id: &str, attributes: Value) -> Self {
        let external_id = Some(external_id.to_owned());
        let attributes = attributes.as_object().unwrap().clone();
        Self { external_id, attributes, ..Self::default() }
    }

    /// Makes the profile and everything about it, events apart.
    pub(crate) async fn make(&mut self, workspace: &Workspace) {
        let mut user = json!({"attributes": self.attributes});
        for (field, value) in
            [("externalId", &self.external_id), ("email", &self.email), ("phone", &self.phone)]
        {
            if let Some(value) = value {
                user[field] = json!(value);
            }
        }
        let made = workspace.api.post("/users", &user, 201).await.json();
        made["id"].as_str().unwrap().clone_into(&mut self.id);
        for (channel, status) in &self.channels {
            let path = format!("/subscriptions/contacts/{}/channels/{channel}", self.id);
            let body = json!({"channel": channel, "status": status});
            let request = workspace.api.request(Method::PUT, &path).json(&body);
            workspace.api.send(request, 200).await;
        }
        for (list, channel, status) in &self.lists {
            let path = format!("/subscriptions/contacts/{}/lists/{list}", self.id);
            let method = if *status == "subscribed" { Method::POST } else { Method::DELETE };
            let request = workspace.api.request(method, &path).json(&json!({"channel": channel}));
            workspace.api.send(request, 200).await;
        }
    }

    fn events(&self) -> impl Iterator<Item = Value> {
        self.tracked_events.iter().map(|tracked| {
            let external = self.external_id.as_deref();
            let mut event = json!({
                "eventName": tracked.name,
                "timestamp": iso(tracked.at),
                "properties": tracked.properties,
            });
            match (tracked.tracked_by, external) {
                ("external", Some(external)) => event["userId"] = json!(external),
                ("both", Some(external)) => {
                    event["userId"] = json!(external);
                    event["serviceUserId"] = json!(self.id);
                }
                ("internal as userId", _) => event["userId"] = json!(self.id),
                _ => event["serviceUserId"] = json!(self.id),
            }
            event
        })
    }
}

/// Tracks what people did, and waits until it can be asked about.
pub(crate) async fn track(workspace: &Workspace, people: &[Person]) {
    let events: Vec<Value> = people.iter().flat_map(Person::events).collect();
    for some in events.chunks(500) {
        workspace.api.post("/events/track", &json!(some), 200).await;
    }
    track_until(workspace, events.len()).await;
}

/// Waits until the workspace has so many events.
pub(crate) async fn track_until(workspace: &Workspace, count: usize) {
    eventually("the events can be queried", || async {
        let events = workspace.api.get("/events/query?limit=1000", 200).await.json();
        (events.as_array().unwrap().len() >= count.min(1000)).then_some(())
    })
    .await;
}

/// A moment as callers write it.
pub(crate) fn iso(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// So many days ago.
pub(crate) fn days_ago(days: i64) -> DateTime<Utc> {
    Clock::system().now().utc() - Duration::days(days)
}

/// A list of this name.
pub(crate) async fn list(workspace: &Workspace, name: &str) -> String {
    let list = workspace.api.post("/lists", &json!({"name": name}), 201).await.json();
    list["id"].as_str().unwrap().to_owned()
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) targeting: Option<Targeting>,
    pub(crate) channel: Option<Channel>,
    pub(crate) list: Option<ListId>,
    /// Whether profiles of events are found in PostgreSQL alone.
    pub(crate) without_copies: bool,
}

impl Asked {
    fn state(&self, app: &App) -> AudienceState {
        let state: &AudienceState = app.contacts();
        if self.without_copies { state.without_copies() } else { state.clone() }
    }

    pub(crate) fn new(targeting: &Value) -> Self {
        let targeting = serde_json::from_value(targeting.clone());
        Self { targeting: Some(targeting.unwrap()), ..Self::default() }
    }

    pub(crate) fn on(mut self, channel: Channel) -> Self {
        self.channel = Some(channel);
        self
    }

    pub(crate) fn under(mut self, list: &str) -> Self {
        self.list = Some(list.parse().unwrap());
        self
    }

    fn query(&self) -> AudienceQuery<'_> {
        AudienceQuery { targeting: self.targeting.as_ref(), channel: self.channel, list: self.list }
    }

    pub(crate) async fn measure(&self, workspace: WorkspaceId) -> Measured {
        let asked = self.clone();
        server()
            .with(|app| async move {
                ops::measure(&asked.state(&app), workspace, &asked.query()).await.unwrap()
            })
            .await
    }

    /// Everyone who is meant, read in pages of this size.
    pub(crate) async fn pages(&self, workspace: WorkspaceId, size: u32) -> Vec<Reached> {
        let asked = self.clone();
        server()
            .with(|app| async move {
                let query = asked.query();
                let state = asked.state(&app);
                let mut audience = ops::Audience::open(&state, workspace, &query).await.unwrap();
                let mut all: Vec<Reached> = Vec::new();
                loop {
                    let after = all.last().map(|reached| reached.user);
                    let page = audience.page(after, size).await.unwrap();
                    if page.is_empty() {
                        audience.close().await.unwrap();
                        return all;
                    }
                    assert!(page.len() <= size as usize);
                    all.extend(page);
                }
            })
            .await
    }
}

/// Internal ids of the profiles that match a targeting.
pub(crate) async fn matching_ids(workspace: &Workspace, targeting: &Value) -> BTreeSet<UserId> {
    let all = Asked::new(targeting).pages(workspace.id, 1000).await;
    all.into_iter().map(|reached| reached.user).collect()
}

/// A targeting of one filter.
pub(crate) fn only(filter: &Value) -> Value {
    json!({"filterGroups": [{"filters": [filter], "operator": "AND"}]})
}

/// External ids of the profiles that match one filter, in order.
pub(crate) async fn names(workspace: &Workspace, people: &[Person], filter: &Value) -> Vec<String> {
    let matching_ids = matching_ids(workspace, &only(filter)).await;
    let mut names: Vec<String> = people
        .iter()
        .filter(|person| matching_ids.contains(&person.id.parse().unwrap()))
        .map(|person| person.external_id.clone().unwrap_or_else(|| "-".to_owned()))
        .collect();
    names.sort();
    names
}
