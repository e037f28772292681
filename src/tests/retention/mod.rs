//! Events, message events and deleted profiles go after the days that their workspace keeps them.

use std::time::Duration;

use ::retention::{Outcome, RetentionOptions};
use kernel::{Clock, Timestamp, time::DAY};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use web::workspaces::{self, DataDays, Days, WorkspaceChanges};

use crate::{
    engines::command::millrace,
    kit::{Workspace, eventually, server},
    stats::fixture::campaign,
};

/// Turns of these tests, and the clock that they record, are one after the other.
static TURNS: Mutex<()> = Mutex::const_new(());

fn options() -> RetentionOptions {
    RetentionOptions { days: DataDays::default(), every: Duration::from_hours(1) }
}

/// Deletes what is past on the shared server, on which other workspaces keep all.
async fn run() -> Outcome {
    server().with(async |app| ::retention::run(app.services(), options()).await.unwrap()).await
}

async fn keep(workspace: &Workspace, changes: WorkspaceChanges) {
    let (db, name) = (server().db(), workspace.name.clone());
    server().on(async move { workspaces::set(&db, &name, &changes).await.unwrap() }).await;
}

fn events_of(days: u32) -> WorkspaceChanges {
    WorkspaceChanges { events: Some(Days::Of(days)), ..WorkspaceChanges::default() }
}

/// The start of the UTC day so many days ago, and the millisecond before.
fn edge(days: u32) -> [i64; 2] {
    let since = workspaces::kept_since(days, Clock::system().now()).unwrap();
    [since.millis(), since.millis() - 1]
}

fn event(id: &str, at_ms: i64) -> Value {
    json!({"userId": "ann", "eventName": "Order Completed", "clientEventId": id,
        "timestamp": Timestamp::from_millis(at_ms).to_string(),
        "properties": {"orderId": id, "total": 10, "currency": "EUR"}})
}

async fn ids(workspace: &Workspace) -> Vec<String> {
    let shown = workspace.api.get("/events/query?limit=1000", 200).await.json();
    let id = |event: &Value| event["event_id"].as_str().unwrap().to_owned();
    let mut ids: Vec<String> = shown.as_array().unwrap().iter().map(id).collect();
    ids.sort();
    ids
}

async fn track(workspace: &Workspace, events: &[Value]) {
    workspace.api.post("/events/track", &json!(events), 200).await;
    eventually("the events are there", || async {
        (ids(workspace).await.len() == events.len()).then_some(())
    })
    .await;
}

/// Rows of a workspace in a table of ClickHouse.
async fn rows(workspace: &Workspace, table: &str) -> u64 {
    let sql = format!("SELECT count() FROM {table} WHERE workspace_id = '{}'", workspace.id.uuid());
    server()
        .with(async move |app| {
            app.analytics().client().query_raw(&sql).fetch_one::<u64>().await.unwrap()
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn events_go_at_the_boundary_day_and_those_of_another_workspace_stay() {
    let _turn = TURNS.lock().await;
    let (own, other) = (Workspace::new().await, Workspace::new().await);
    let [kept, gone] = edge(10);
    let events = [event("kept", kept), event("gone", gone), event("old", kept - 90 * 86_400_000)];
    track(&own, &events).await;
    track(&other, &events).await;
    keep(&own, events_of(10)).await;
    // The server may take a turn of its own just now.
    assert_eq!(run().await.held_until, None);
    assert_eq!(ids(&own).await, ["kept"]);
    assert_eq!(ids(&other).await, ["gone", "kept", "old"]);
    for table in ["events", "orders"] {
        assert_eq!((rows(&own, table).await, rows(&other, table).await), (1, 3), "{table}");
    }
    assert_eq!(rows(&own, "timeline").await, 2, "by time and by person");
    assert_eq!(run().await.events, 0, "once is enough");
    let asked = |from: i64| {
        json!({"series": [{"eventName": "Order Completed"}],
            "from": Timestamp::from_millis(from).to_string()})
    };
    let answer = async |workspace: &Workspace, from: i64| {
        workspace.api.post("/insights/trends", &asked(from), 200).await.json()
    };
    let complete_from = json!(Timestamp::from_millis(kept).to_string());
    assert_eq!(answer(&own, gone).await["completeFrom"], complete_from);
    assert_eq!(answer(&own, kept).await["completeFrom"], Value::Null);
    assert_eq!(answer(&other, gone).await["completeFrom"], Value::Null);
    let sums = async |workspace: &Workspace, from: i64| {
        let body = json!({"eventName": "Order Completed", "startDate": Timestamp::from_millis(from).to_string()});
        workspace.api.post("/events/aggregate", &body, 200).await.json()
    };
    assert_eq!(sums(&own, gone).await["data"]["completeFrom"], complete_from);
    assert_eq!(sums(&own, kept).await["data"]["completeFrom"], Value::Null);
    assert_eq!(sums(&other, gone).await["data"]["completeFrom"], Value::Null);

    // The same event may come again, and is stored once.
    track(&own, &[event("kept", kept), event("late", kept)]).await;
    assert_eq!(ids(&own).await, ["kept", "late"]);
}

/// The campaign is older than the days for which messages, or the events of its conversions, are kept.
#[tokio::test(flavor = "multi_thread")]
async fn campaign_reports_name_the_day_from_which_they_are_complete() {
    let _turn = TURNS.lock().await;
    let own = Workspace::new().await;
    let [kept, gone] = edge(20);
    let plain = campaign(&own, json!({})).await;
    let converting =
        json!({"conversionTracking": {"primaryConversion": {"eventName": "Order Completed"}}});
    let converting = campaign(&own, converting).await;
    let (db, id) = (server().db(), own.id.uuid());
    let long_ago = Timestamp::from_millis(gone).utc();
    let work = async move {
        let older = "update campaign set created_at = $2, started_at = $2 where workspace_id = $1";
        sqlx::query(older).bind(id).bind(long_ago).execute(&db).await.unwrap();
    };
    server().on(work).await;
    let answers = async |id: uuid::Uuid, query: &str| {
        let mut found = Vec::new();
        for report in ["stats", "variant-stats", "links", "time-to-engage", "send-occurrences"] {
            // These take no range.
            let query =
                if matches!(report, "time-to-engage" | "send-occurrences") { "" } else { query };
            let path = format!("/campaigns/{id}/{report}{query}");
            found.push(own.api.get(&path, 200).await.json()["completeFrom"].clone());
        }
        found
    };
    let since = |at: i64| json!(Timestamp::from_millis(at).to_string());
    for id in [plain, converting] {
        assert_eq!(answers(id, "").await, [const { Value::Null }; 5], "all is kept");
    }
    let days = Some(Days::Of(20));
    keep(&own, WorkspaceChanges { events: days, ..WorkspaceChanges::default() }).await;
    assert_eq!(answers(plain, "").await, [const { Value::Null }; 5], "it counts no events");
    assert_eq!(answers(converting, "").await, [const { Value::Null }; 5].map(|_| since(kept)));
    keep(&own, WorkspaceChanges { message_events: days, ..WorkspaceChanges::default() }).await;
    for id in [plain, converting] {
        assert_eq!(answers(id, "").await, [const { Value::Null }; 5].map(|_| since(kept)));
        let query = format!("?startDate={}", Timestamp::from_millis(kept));
        assert_eq!(answers(id, &query).await[..3], [const { Value::Null }; 3], "the range is kept");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumped_deletes_nothing_for_a_day() {
    let _turn = TURNS.lock().await;
    let own = Workspace::new().await;
    let [_, gone] = edge(10);
    track(&own, &[event("gone", gone)]).await;
    keep(&own, events_of(10)).await;
    // As if it had last been looked at four days ago.
    let set = async |seen: Duration, held: Option<Duration>| {
        let now = Clock::system().now();
        let (seen, held) = (now.before(seen).utc(), held.map(|ago| now.before(ago).utc()));
        let db = server().db();
        let statement = "insert into retention_clock (seen_at, held_until) values ($1, $2)
             on conflict (id) do update set seen_at = $1, held_until = $2";
        let work = async move {
            sqlx::query(statement).bind(seen).bind(held).execute(&db).await.unwrap();
        };
        server().on(work).await;
    };
    set(DAY * 4, None).await;
    for _ in 0..2 {
        let outcome = run().await;
        assert!(outcome.held_until.is_some_and(|until| until > Clock::system().now()));
        assert_eq!(ids(&own).await, ["gone"]);
    }
    // The day is over, and the clock went on as usual.
    set(Duration::from_hours(1), Some(Duration::from_secs(1))).await;
    assert_eq!(run().await.held_until, None);
    assert!(ids(&own).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_profiles_go_with_what_belongs_to_them() {
    let _turn = TURNS.lock().await;
    let (own, other) = (Workspace::new().await, Workspace::new().await);
    let days = Some(Days::Of(10));
    keep(&own, WorkspaceChanges { deleted_profiles: days, ..WorkspaceChanges::default() }).await;
    for workspace in [&own, &other] {
        for (name, ago) in [("old", 12), ("fresh", 2)] {
            let body = json!({"externalId": name, "email": format!("{name}@example.test")});
            let made = workspace.api.post("/users", &body, 201).await.json();
            suppress_for_a_while(workspace, name).await;
            let path = format!("/users/{}", made["id"].as_str().unwrap());
            let request = workspace.api.request(reqwest::Method::DELETE, &path);
            assert!(request.send().await.unwrap().status().is_success());
            let (db, id) = (server().db(), workspace.id.uuid());
            let at = Clock::system().now().before(DAY * ago).utc();
            let work = async move {
                sqlx::query(
                    "update users set deleted_at = $3 where workspace_id = $1 and external_id = $2",
                )
                .bind(id)
                .bind(name)
                .bind(at)
                .execute(&db)
                .await
                .unwrap();
            };
            server().on(work).await;
        }
    }
    assert_eq!(run().await.held_until, None);
    for (workspace, left) in [(&own, 1), (&other, 2)] {
        let bin = workspace.api.get("/users/deleted", 200).await.json();
        assert_eq!(bin["total"], left, "{bin}");
        assert_eq!(past_suppressions(workspace, "old").await, 2 * (left - 1));
        assert_eq!(past_suppressions(workspace, "fresh").await, 2);
    }
}

async fn suppress_for_a_while(workspace: &Workspace, name: &str) {
    let identifier = format!("{name}@example.test");
    let row = json!({"channel": "email", "identifier": identifier});
    workspace.api.post("/suppressions", &row, 201).await;
    let path = format!("/suppressions/{identifier}?channel=email");
    workspace.api.send(workspace.api.request(reqwest::Method::DELETE, &path), 200).await;
}

async fn past_suppressions(workspace: &Workspace, name: &str) -> u64 {
    let path = format!("/suppressions/{name}@example.test/history?channel=email");
    workspace.api.get(path, 200).await.json()["total"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_are_listed_and_set_by_commands() {
    let workspace = Workspace::new().await;
    let data = &server().data_dir;
    let name = workspace.name.as_str();
    let set = ["workspaces", "set", "--workspace", name];
    let done = millrace(
        data,
        &[&set[..], &["--events-days", "30", "--currency", "eur", "--timezone", "Europe/Berlin"]]
            .concat(),
    )
    .await;
    assert_eq!(done.status, 0, "{}", done.stderr);
    let listed = millrace(data, &["workspaces", "list"]).await;
    let line = listed.stdout.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[2..], ["EUR", "Europe/Berlin", "30", "default", "default"], "{line}");
    for (arguments, status, fault) in [
        (&["--events-days", "-1"][..], 2, "days"),
        (&["--events-days", "many"], 2, "must be a number of days"),
        (&["--timezone", "Mars/Base"], 1, "timezone"),
        (&["--currency", "euro"], 1, "currency"),
        (&[], 2, "required"),
    ] {
        let refused = millrace(data, &[&set[..], arguments].concat()).await;
        assert_eq!(refused.status, status, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(fault), "{arguments:?}: {}", refused.stderr);
    }
    let unknown = ["workspaces", "set", "--workspace", "no such", "--events-days", "1"];
    let refused = millrace(data, &unknown).await;
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("Workspace"), "{}", refused.stderr);
}
