//! Questions that are given up: their statements are stopped, and their places free when these have ended.

use std::time::Duration;

use analytics::{
    Analytics, ReadLimits,
    insights::{Breakdown, BreakdownSource, EventChoice, Metric, Span, TrendAsked, trend},
};
use tokio::time::timeout;
use uuid::Uuid;

use super::fixture::{ms, run};
use crate::kit;

/// Times that a question is given up.
const ROUNDS: usize = 20;
/// How long a question may take before the test fails.
const TIME_MAX: Duration = Duration::from_mins(2);
/// Statements of trends that run in this database.
const RUNNING: &str = "
    SELECT count() FROM system.processes
    WHERE current_database = currentDatabase() AND position(query, 'is_total') > 0
        AND position(query, 'system.processes') = 0";

async fn running(analytics: &Analytics) -> u64 {
    analytics.client().query_raw(RUNNING).fetch_one().await.unwrap()
}

/// By a property of which each event has another value, which takes a while.
fn asked() -> TrendAsked {
    let span =
        Span { start_ms: ms("2026-03-01T00:00:00Z"), end_ms: ms("2026-03-01T23:59:59.999Z") };
    TrendAsked {
        choice: EventChoice { event_name: Some("Seen".to_owned()), tests: Vec::new() },
        metric: Metric::Count,
        field: None,
        span,
        compared: None,
        starts_ms: vec![span.start_ms],
        breakdown: Some(Breakdown { source: BreakdownSource::Property, path: "page".to_owned() }),
        values_max: 10,
        members: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_place_of_a_question_that_is_given_up_is_free_when_its_statement_has_ended() {
    let limits = ReadLimits { queries_max: 1, time_max: TIME_MAX, ..ReadLimits::default() };
    let analytics = kit::clickhouse_database().await.with_limits(limits);
    let workspace = Uuid::now_v7();
    let rows = format!(
        "INSERT INTO events (workspace_id, event_name, day, timestamp, user_id, event_id, properties, seq)
         SELECT '{workspace}', 'Seen', '2026-03-01', toDateTime64('2026-03-01 12:00:00', 3, 'UTC'), 'ann', toString(number),
            concat('{{\"page\":\"', toString(number), '\"}}'), number
         FROM numbers(300000)"
    );
    run(&analytics, &rows).await;
    for round in 0..ROUNDS {
        let asks = analytics.clone();
        let caller = tokio::spawn(async move {
            let asked = asked();
            while trend(&asks, workspace, &asked).await.is_ok() {}
        });
        let runs = async {
            while running(&analytics).await == 0 {
                assert!(!caller.is_finished());
            }
        };
        timeout(TIME_MAX, runs).await.expect("the statement runs");
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        let freed = async {
            while analytics.in_flight_and_waiting().0 > 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(TIME_MAX, freed).await.expect("its place is free again");
        assert_eq!(running(&analytics).await, 0, "round {round}");
    }
}
