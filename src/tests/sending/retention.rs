//! Deletion of old rows by three processes, and the limits that still count what was deleted.

use kernel::{Clock, ClockHand, Timestamp, WorkspaceId};
use serde_json::json;

use super::{
    clocked::DAY,
    fixture::{Cohort, Log, beside, call, gateway, until},
};
use crate::kit::{Client, TestServer, data_dir, eventually, run, settings, unique};

/// When the clock of all three begins.
const BEGIN: &str = "2031-03-03T00:00:00Z";
/// Days everything is kept.
const DAYS: u32 = 31;

struct Three {
    servers: Vec<TestServer>,
    hand: ClockHand,
    api: Client,
    workspace: WorkspaceId,
    log: Log,
}

impl Three {
    async fn start() -> Self {
        let (url, log) = gateway();
        let start = move || {
            let (clock, hand) = Clock::fixed(Timestamp::parse(BEGIN).unwrap());
            let servers = ["retention", "retention-second", "retention-third"];
            let servers = servers.map(|name| server(name, &url, clock.clone()));
            (Vec::from(servers), hand)
        };
        let (servers, hand) = tokio::task::spawn_blocking(start).await.unwrap();
        let (token, workspace) = servers[0].key(&unique("retention"), "*").await;
        let api = Client::new(&servers[0].url, Some(&token));
        Self { servers, hand, api, workspace, log }
    }

    /// How many rows there are; `$1` is the workspace.
    async fn rows(&self, statement: &'static str) -> u64 {
        let (db, workspace) = (self.servers[0].db(), self.workspace.uuid());
        let work = async move { sqlx::query(statement).bind(workspace).execute(&db).await };
        self.servers[0].on(work).await.unwrap().rows_affected()
    }

    /// Waits until there are so many rows.
    async fn until(&self, what: &str, statement: &'static str, expected: u64) {
        eventually(what, async || (self.rows(statement).await == expected).then_some(())).await;
    }

    async fn track(&self, user: &str, event: &str) {
        let event = json!({"userId": user, "eventName": event, "clientEventId": unique("event")});
        self.api.post("/events/track", &event, 200).await;
    }
}

fn server(name: &str, url: &str, clock: Clock) -> TestServer {
    let values = [
        ("channels.email.provider", "http".to_owned()),
        ("channels.email.url", format!("{url}/email")),
    ];
    let mut settings = settings(&data_dir(name), &values);
    settings.retention.every_minutes = 60;
    settings.retention.messages_days = DAYS;
    settings.retention.campaign_entries_days = DAYS;
    settings.retention.campaign_history_days = DAYS;
    if name != "retention" {
        let [(_, database), (_, clickhouse)] = beside(&data_dir("retention"));
        settings.database_url = Some(database.into());
        settings.clickhouse_url = Some(clickhouse.into());
    }
    run(settings, clock)
}

const MESSAGES: &str = "select id from message where workspace_id = $1";
const ENTRIES: &str = "select entry from campaign_entry where workspace_id = $1";

/// A campaign that waits for an event, live.
async fn triggered(three: &Three, cohort: &Cohort, event: &str, re_entry: &str) -> String {
    let config =
        json!({"type": "event", "eventName": event, "delayMinutes": 0, "reEntry": re_entry});
    cohort.send(&three.api, &json!({"sendType": "triggered", "triggerConfig": config})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn old_messages_are_deleted_and_limits_still_count_them() {
    let three = Three::start().await;
    let (api, log) = (&three.api, &three.log);
    let mut cohort = Cohort::new(api, 5, "kept").await;
    let once_sent = cohort.send(api, &json!({})).await;
    let limit = json!({"sendVolumeLimit": {"maxSends": 3}, "resendPolicy": "everyone"});
    let limited = cohort.send(api, &limit).await;
    for id in [&once_sent, &limited] {
        until(api, id, "completed").await;
    }
    let (first, again) = (unique("Once"), unique("Always"));
    let once = triggered(&three, &cohort, &first, "once").await;
    let always = triggered(&three, &cohort, &again, "always").await;
    let ann = cohort.ids[0].clone();
    three.track(&ann, &first).await;
    for count in 1..=3 {
        three.track(&ann, &again).await;
        eventually("it is sent", async || (log.of(&always).len() == count).then_some(())).await;
    }
    eventually("it is sent", async || (log.of(&once).len() == 1).then_some(())).await;
    three
        .until(
            "nothing is in flight",
            "select id from message where workspace_id = $1 and due_at is not null",
            0,
        )
        .await;
    assert_eq!(three.rows(MESSAGES).await, 5 + 5 + 1 + 3);

    // A day before they are old enough.
    three.hand.advance_ms(i64::from(DAYS - 1) * DAY);
    let young = cohort.send(api, &json!({"name": "young"})).await;
    until(api, &young, "completed").await;
    assert_eq!(three.rows(MESSAGES).await, 5 + 5 + 1 + 3 + 5, "nothing is old yet");

    three.hand.advance_ms(2 * DAY);
    three.until("old messages are deleted", MESSAGES, 5).await;
    three.until("of entries everyone's last stays", ENTRIES, 2).await;
    let old =
        "select seq from campaign_history where workspace_id = $1 and created_at < '2031-03-04'";
    three.until("old history is deleted", old, 0).await;
    let metrics = reqwest::get(format!("{}/metrics", three.servers[0].admin_url)).await.unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.contains("millrace_retention_deleted_total"), "deletions are counted");

    // A report knows what was sent, a resend who had it, a limit how much is used, an entry that it was the only one.
    let stats = api.get(format!("/campaigns/{once_sent}/stats"), 200).await.json();
    assert_eq!(stats["stats"]["sent"], 5, "{stats}");
    let late = cohort.join(api).await;
    for id in [&once_sent, &limited] {
        call(api, id, "resend").await;
        until(api, id, "completed").await;
    }
    assert_eq!(log.of(&once_sent).len(), 6);
    assert!(log.once(&once_sent).contains(&late), "only who is new gets it");
    assert_eq!(log.taken_count(&limited), 3, "the limit is three");
    three.track(&ann, &first).await;
    three.track(&ann, &again).await;
    eventually("it is sent", async || (log.of(&always).len() == 4).then_some(())).await;
    let fourth = "select entry from campaign_entry where workspace_id = $1 and entry = 4";
    assert_eq!(three.rows(fourth).await, 1, "entries are counted on");
    assert_eq!(log.of(&once).len(), 1, "once is once");
}
