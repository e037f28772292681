//! `/campaigns`: creating, reading, changing and the lifecycle, over HTTP on the real engines.

mod bulk;
mod content;
mod crud;
mod eligibility;
mod history;
mod isolation;
mod lifecycle;
mod list;
mod precondition;
mod preview_launch;
mod recurring;
mod rl;
mod schedule;
mod secrets;
mod settings;
mod spam_check;
mod sto;
mod trial;
mod versions;

use serde_json::{Value, json};

use crate::kit::{Answer, Client, Workspace, server};

/// A body that is enough for an email campaign.
pub(crate) fn email(name: &str) -> Value {
    json!({
        "name": name,
        "channel": "email",
        "variants": [{
            "id": "a", "name": "A", "weight": 100,
            "message": {"subject": "Hello", "html": "<p>Hello <a href=\"{{ unsubscribe_url }}\">out</a></p>"},
        }],
    })
}

/// Likewise with other fields, or with some of its own taken away by null.
pub(crate) fn email_with(name: &str, fields: Value) -> Value {
    let mut body = email(name);
    for (field, value) in fields.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

/// A body that goes live and stays so.
pub(crate) fn triggered(name: &str) -> Value {
    let config = json!({"type": "event", "eventName": "Signed Up"});
    email_with(name, json!({"sendType": "triggered", "triggerConfig": config}))
}

/// A body that goes out every day.
pub(crate) fn recurring(name: &str) -> Value {
    let schedule = json!({"frequency": "daily", "timeOfDay": "09:00", "timezone": "Europe/Berlin"});
    email_with(name, json!({"sendType": "recurring", "recurringSchedule": schedule}))
}

pub(crate) async fn made(client: &Client, body: &Value) -> Value {
    client.post("/campaigns", body, 201).await.json()
}

/// The id of a campaign that was answered.
pub(crate) fn id(campaign: &Value) -> &str {
    campaign["id"].as_str().unwrap()
}

/// One of the calls without a body.
pub(crate) async fn call(client: &Client, campaign: &Value, suffix: &str, status: u16) -> Answer {
    let path = format!("/campaigns/{}/{suffix}", id(campaign));
    client.send(client.request(reqwest::Method::POST, &path), status).await
}

pub(crate) async fn put(client: &Client, campaign: &Value, body: Value, status: u16) -> Answer {
    let path = format!("/campaigns/{}", id(campaign));
    client.send(client.request(reqwest::Method::PUT, &path).json(&body), status).await
}

/// A campaign as it is now.
pub(crate) async fn read(client: &Client, campaign: &Value) -> Value {
    client.get(format!("/campaigns/{}", id(campaign)), 200).await.json()
}

/// The moment so many milliseconds from now, as it is written in a body.
pub(crate) fn in_ms(ms: i64) -> String {
    let now = kernel::Clock::system().now();
    kernel::Timestamp::from_millis(now.millis() + ms).to_string()
}

/// A campaign brought into a status by what callers do, or, where only time does, by the store.
pub(crate) async fn in_status(workspace: &Workspace, body: &Value, status: &str) -> Value {
    let api = &workspace.api;
    let campaign = made(api, body).await;
    for suffix in match status {
        "draft" => &[][..],
        "active" => &["send"],
        "paused" => &["send", "pause"],
        "archived" => &["archive"],
        _ => panic!("no way into {status}"),
    } {
        call(api, &campaign, suffix, 200).await;
    }
    read(api, &campaign).await
}

/// Does to a campaign in the store what no caller can. `$1` is its workspace and `$2` its id.
pub(crate) async fn sql(workspace: &Workspace, campaign: &Value, statement: &'static str) {
    let (db, workspace) = (server().db(), workspace.id.uuid());
    let campaign: uuid::Uuid = id(campaign).parse().unwrap();
    let work =
        async move { sqlx::query(statement).bind(workspace).bind(campaign).execute(&db).await };
    assert_eq!(server().on(work).await.unwrap().rows_affected(), 1);
}

/// Puts a campaign into a state that only sending brings about, to be looked at so many milliseconds
/// from now.
pub(crate) async fn force(
    workspace: &Workspace,
    campaign: &Value,
    status: &str,
    due_in_ms: Option<i64>,
) {
    let (db, workspace) = (server().db(), workspace.id.uuid());
    let campaign: uuid::Uuid = id(campaign).parse().unwrap();
    let status = status.to_owned();
    let due = due_in_ms.map(|ms| {
        let now = kernel::Clock::system().now();
        kernel::Timestamp::from_millis(now.millis() + ms).utc()
    });
    let done = server()
        .on(async move {
            sqlx::query(
                "update campaign
                 set status = $3, revision = revision + 1, next_send_at = $4,
                     paused_from = case when $3 = 'paused' then 'scheduled' end,
                     archived_from = case when $3 = 'archived' then 'draft' end,
                     failure_reason = case when $3 = 'failed' then 'a reason' end
                 where workspace_id = $1 and id = $2",
            )
            .bind(workspace)
            .bind(campaign)
            .bind(status)
            .bind(due)
            .execute(&db)
            .await
        })
        .await
        .unwrap();
    assert_eq!(done.rows_affected(), 1);
}
