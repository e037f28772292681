//! Questions over very many events, and callers who go before the answer.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

use super::trends;
use crate::kit::{Client, TestServer, Workspace, data_dir, run, settings};

/// Events as the writer stores them, written at once: the first have one of three pages, then some have none, and all
/// others have a page of their own.
const EVENTS: &str = r#"
    INSERT INTO events (workspace_id, event_name, day, timestamp, seq, user_id, event_id, properties, is_unique)
    SELECT
        ?, 'Seen', toDate('2026-03-01') + number % 2,
        toDateTime64('2026-03-01 12:00:00', 3, 'UTC') + toIntervalDay(number % 2),
        number, concat('person-', toString(number % 1000)), toString(number),
        multiIf(number < 6000, concat('{"page":"often-', toString(number % 3), '"}'),
                number < 10000, '{"plan":"page"}',
                concat('{"page":"page-', toString(number), '"}')), 1
    FROM numbers(?)"#;

async fn write(server: &TestServer, workspace: Uuid, events: u64) {
    server
        .with(move |app| async move {
            let query = app.analytics().client().query(EVENTS).bind(workspace).bind(events);
            query.execute().await.unwrap();
        })
        .await;
}

/// More distinct values than the engine groups in one table (100,000 keys, `group_by_two_level_threshold`) and than a
/// block has rows (65,409): a million values take the same way.
const MANY: u64 = 220_000;

#[tokio::test]
async fn a_breakdown_by_very_many_values_has_the_largest_and_the_rest() {
    let workspace = Workspace::new().await;
    write(&workspace.server, workspace.id.uuid(), MANY).await;
    let question = |limit: u32| {
        json!({
            "series": [{"eventName": "Seen"}, {"eventName": "Seen", "metric": "unique"}], "interval": "day",
            "from": "2026-03-01", "to": "2026-03-02", "breakdown": {"property": "page", "limit": limit},
        })
    };
    let answer = trends(&workspace, question(5)).await;
    let series = answer["series"].as_array().unwrap();
    let shown: Vec<Value> =
        series.iter().map(|it| json!([it["breakdown"], it["other"], it["total"]])).collect();
    let pages = MANY - 10_000;
    assert_eq!(
        shown[..7],
        [
            json!(["often-0", false, 2_000]),
            json!(["often-1", false, 2_000]),
            json!(["often-2", false, 2_000]),
            json!(["page-10000", false, 1]),
            json!(["page-100000", false, 1]),
            json!([null, false, 4_000]),
            json!([null, true, pages - 2]),
        ]
    );
    // People of the rest are distinct people.
    assert_eq!(shown.last(), Some(&json!([null, true, 1_000])));

    let answer = trends(&workspace, question(100)).await;
    let series = &answer["series"].as_array().unwrap()[..102];
    let sum = |number: &dyn Fn(&Value) -> u64| series.iter().map(number).sum::<u64>();
    assert_eq!(sum(&|it| it["total"].as_u64().unwrap()), MANY);
    for day in 0..2_usize {
        assert_eq!(sum(&|it| it["values"][day].as_u64().unwrap()), MANY / 2, "day {day}");
    }
    assert_eq!(answer["series"].as_array().unwrap().len(), 2 * 102);
}

/// Statements of trends that run in ClickHouse.
const RUNNING: &str = "SELECT count() FROM system.processes WHERE position(query, 'is_total') > 0 AND position(query, 'system.processes') = 0";
/// Answers of a workspace that are computed at one time.
const COMPUTED_MAX: u64 = 2;
const CALLERS: usize = 6;
const QUESTIONS_EACH: usize = 25;
/// How often the statements are counted before a caller goes.
const COUNTS: usize = 10;

/// Asks, and goes before the answer, again and again.
async fn ask_and_go(client: Client, question: Arc<Value>, mut counted: watch::Receiver<u64>) {
    for _ in 0..QUESTIONS_EACH {
        let request = client.request(Method::POST, "/insights/trends").json(&*question);
        let counts = async {
            for _ in 0..COUNTS {
                counted.changed().await.unwrap();
            }
        };
        tokio::select! {
            answer = request.send() => drop(answer.unwrap()),
            () = counts => {}
        }
    }
}

#[tokio::test]
async fn callers_who_go_at_once_have_no_more_statements_running_than_others() {
    // No other test asks here: all statements are those of this workspace.
    let server = Arc::new(run(settings(&data_dir("insights-gone"), &[]), kernel::Clock::system()));
    let workspace = Workspace::on(&server).await;
    write(&server, workspace.id.uuid(), MANY).await;
    // One statement after the other, each over all events.
    let series = json!({"eventName": "Seen", "metric": "unique"});
    let question = Arc::new(json!({
        "series": vec![series; 10], "interval": "day", "from": "2026-03-01", "to": "2026-03-02",
        "breakdown": {"property": "page"},
    }));
    let (counts, counted) = watch::channel(0);
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (client, question) = (workspace.api.clone(), Arc::clone(&question));
            tokio::spawn(ask_and_go(client, question, counted.clone()))
        })
        .collect();
    let running = || {
        server.with(|app| async move {
            app.analytics().client().query_raw(RUNNING).fetch_one::<u64>().await.unwrap()
        })
    };
    let mut most = 0;
    while callers.iter().any(|caller| !caller.is_finished()) {
        most = most.max(running().await);
        counts.send_modify(|count| *count += 1);
    }
    for caller in callers {
        caller.await.unwrap();
    }
    assert!((1..=COMPUTED_MAX).contains(&most), "{most} statements at one time");
    // The turns of all who have gone are free again.
    trends(
        &workspace,
        json!({"series": [{"eventName": "Seen"}], "last": {"amount": 1, "unit": "days"}}),
    )
    .await;
}
