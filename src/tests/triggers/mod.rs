//! Events trigger campaigns: for which profiles, when, and exactly once.

mod audience;
mod crash;
mod entries;
mod profile_calls;
mod sending;

use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use crate::{
    campaigns::{call, email_with, id, made},
    kit::{Client, Workspace, eventually, server},
};

/// The event that triggers campaigns.
const EVENT: &str = "Signed Up";
/// So many minutes messages of these campaigns stay where they can be looked at.
const DELAY_MINUTES: i64 = 600;

/// A campaign that waits for [`EVENT`], with more in its trigger and in itself.
async fn launched(workspace: &Workspace, trigger: Value, more: Value) -> Value {
    let campaign = waiting(workspace, trigger, more).await;
    call(&workspace.api, &campaign, "send", 200).await;
    campaign
}

/// Likewise, not launched yet.
async fn waiting(workspace: &Workspace, trigger: Value, more: Value) -> Value {
    made(&workspace.api, &body(trigger, more)).await
}

fn body(trigger: Value, more: Value) -> Value {
    let mut config = json!({"type": "event", "eventName": EVENT, "delayMinutes": DELAY_MINUTES});
    for (field, value) in trigger.as_object().unwrap() {
        config[field] = value.clone();
    }
    let mut fields = json!({"sendType": "triggered", "triggerConfig": config});
    for (field, value) in more.as_object().unwrap() {
        fields[field] = value.clone();
    }
    email_with("Welcome", fields)
}

/// Makes profiles of these external ids.
async fn people(api: &Client, names: &[&str]) {
    let users: Vec<Value> = names
        .iter()
        .map(|name| json!({"externalId": name, "email": format!("{name}@example.test")}))
        .collect();
    api.post("/users", &json!(users), 200).await;
}

/// Tracks one event of a user under an id of its own.
async fn track(api: &Client, user: &str, event_id: &str, properties: Value) {
    let event = json!({
        "userId": user, "eventName": EVENT, "clientEventId": event_id, "properties": properties,
    });
    api.post("/events/track", &event, 200).await;
}

/// An entry and its message.
#[derive(Debug, Clone, PartialEq)]
struct Entered {
    event: String,
    user: String,
    occurrence: i32,
    status: String,
    context: Value,
    due_ms: Option<i64>,
}

impl Entered {
    fn short(&self) -> (&str, &str, i32) {
        (&self.event, &self.user, self.occurrence)
    }
}

/// Every entry of a campaign with its message, in their order.
async fn all(db: PgPool, campaign: &Value) -> Vec<Entered> {
    type Row = (String, String, i32, String, Value, Option<chrono::DateTime<chrono::Utc>>);
    let campaign: Uuid = id(campaign).parse().unwrap();
    let rows: Vec<Row> = sqlx::query_as(
        "select e.event_id, u.external_id, m.occurrence, m.status, m.context, m.due_at
         from campaign_entry e
         join users u on u.workspace_id = e.workspace_id and u.id = e.user_id
         join message m on m.workspace_id = e.workspace_id and m.campaign_id = e.campaign_id
             and m.user_id = e.user_id and m.occurrence = e.entry
         where e.campaign_id = $1
         order by e.entered_at, e.event_id",
    )
    .bind(campaign)
    .fetch_all(&db)
    .await
    .unwrap();
    rows.into_iter()
        .map(|(event, user, occurrence, status, context, due)| Entered {
            event,
            user,
            occurrence,
            status,
            context,
            due_ms: due.map(|due| due.timestamp_millis()),
        })
        .collect()
}

/// Likewise on the shared server.
async fn entered(campaign: &Value) -> Vec<Entered> {
    let (db, campaign) = (server().db(), campaign.clone());
    server().on(async move { all(db, &campaign).await }).await
}

/// Waits until an event entered its campaign: then all that were tracked before it were processed.
async fn until(campaign: &Value, event: &str) -> Vec<Entered> {
    eventually("the event triggers the campaign", || async {
        let entered = entered(campaign).await;
        entered.iter().any(|entered| entered.event == event).then_some(entered)
    })
    .await
}

/// Waits until everything that was tracked before was processed: by an event in another workspace that enters a
/// campaign there, and by one more, since what comes in together is worked on campaign by campaign.
async fn caught_up() {
    let marker = Workspace::new().await;
    people(&marker.api, &["marker"]).await;
    let campaign = launched(&marker, json!({"reEntry": "always"}), json!({})).await;
    for event in ["first", "second"] {
        track(&marker.api, "marker", event, json!({})).await;
        until(&campaign, event).await;
    }
}
