//! Lists, totals and sums over random repeats in unmerged parts, compared with a model.

use std::collections::BTreeMap;

use analytics::{
    Analytics,
    events::{self, Aggregate, EventFilter},
};
use proptest::{
    prelude::{Strategy as _, any},
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use uuid::Uuid;

use super::fixture::{Event, asked, counted, event, insert, ms, stop_merges};
use crate::kit;

const ROUNDS: usize = 2;
const INSERTS: usize = 6;
const EVENTS_AN_INSERT: usize = 60;
const USERS: [&str; 3] = ["", "ann", "bob"];
const INTERNAL: &str = "0123456789abcdef01234567";
/// Few, so that many events share one: ties in a list, repeats on both sides of a range's end.
const TIMES: [&str; 8] = [
    "2024-01-01T00:00:00Z",
    "2024-01-01T23:59:59.999Z",
    "2024-01-15T12:00:00Z",
    "2024-01-15T12:00:00.001Z",
    "2024-01-31T23:59:59.999Z",
    "2024-02-01T00:00:00Z",
    "2024-02-10T08:00:00Z",
    "2024-02-10T09:00:00Z",
];

/// Any event of ten ids: repeats differ in their time, user and way of stamping.
fn any_event(workspace: Uuid, runner: &mut TestRunner) -> Event {
    let shape = (0..10_u32, 0..2_usize, 0..TIMES.len(), 0..USERS.len(), any::<(bool, bool)>());
    let (id, name, time, user, (stamped, internal)) = shape.new_tree(runner).unwrap().current();
    let mut one = event(workspace, ["Seen", "Bought"][name], &format!("e{id}"), TIMES[time]);
    USERS[user].clone_into(&mut one.user_id);
    if internal {
        INTERNAL.clone_into(&mut one.service_user_id);
    }
    one.is_server_stamped = stamped;
    one
}

/// What is there: of each key the first arrival, newest first and the last arrival first among equals.
fn model(arrived: &[Event]) -> Vec<Event> {
    let mut first: BTreeMap<(String, String, String), (usize, &Event)> = BTreeMap::new();
    for (arrival, one) in arrived.iter().enumerate() {
        let day = if one.is_server_stamped {
            format!("{}-01", &one.at[..7])
        } else {
            one.at[..10].to_owned()
        };
        first.entry((one.name.clone(), day, one.id.clone())).or_insert((arrival, one));
    }
    let mut there: Vec<(usize, &Event)> = first.into_values().collect();
    there.sort_by_key(|(arrival, one)| std::cmp::Reverse((ms(&one.at), *arrival)));
    there.into_iter().map(|(_, one)| one.clone()).collect()
}

fn matches(one: &Event, filter: &EventFilter) -> bool {
    let at = ms(&one.at);
    let is_theirs =
        |ids: &Vec<String>| ids.contains(&one.user_id) || ids.contains(&one.service_user_id);
    filter.user_ids.as_ref().is_none_or(is_theirs)
        && filter.event_name.as_ref().is_none_or(|name| *name == one.name)
        && filter.start_ms.is_none_or(|start| at >= start)
        && filter.end_ms.is_none_or(|end| at <= end)
}

/// Every filter of the lists with each other.
fn filters() -> Vec<EventFilter> {
    let mut filters = Vec::new();
    for ids in [None, Some(vec!["ann"]), Some(vec![INTERNAL]), Some(vec!["bob", INTERNAL])] {
        for event_name in [None, Some("Seen".to_owned())] {
            for (start, end) in
                [(None, None), (Some(TIMES[2]), Some(TIMES[5])), (Some(TIMES[3]), None)]
            {
                filters.push(EventFilter {
                    anonymous_ids: Vec::new(),
                    user_ids: ids.clone().map(|ids| ids.into_iter().map(str::to_owned).collect()),
                    event_name: event_name.clone(),
                    start_ms: start.map(ms),
                    end_ms: end.map(ms),
                    limit: 1000,
                    offset: 0,
                });
            }
        }
    }
    filters
}

fn summary(one: &Event) -> (String, i64, String) {
    let user = if one.user_id.is_empty() { &one.service_user_id } else { &one.user_id };
    (one.id.clone(), ms(&one.at), user.clone())
}

async fn hold(analytics: &Analytics, workspace: Uuid, there: &[Event], filter: &EventFilter) {
    let expected: Vec<_> = there.iter().filter(|one| matches(one, filter)).map(summary).collect();
    for (limit, offset) in [(1, 0), (5, 3), (1000, 0), (1000, expected.len() as u64)] {
        let page = EventFilter { limit, offset, ..filter.clone() };
        let wanted = expected.iter().skip(usize::try_from(offset).unwrap()).take(limit as usize);
        let rows = events::query(analytics, workspace, &page).await.unwrap();
        let found: Vec<_> =
            rows.into_iter().map(|row| (row.event_id, row.timestamp_ms, row.user_id)).collect();
        assert_eq!(found, wanted.cloned().collect::<Vec<_>>(), "{page:?}");
        if filter.user_ids.is_some() {
            let (rows, total) = events::of_user(analytics, workspace, &page).await.unwrap();
            assert_eq!((rows.len(), total), (found.len(), expected.len() as u64), "{page:?}");
        }
    }
    if let (None, Some(name)) = (&filter.user_ids, &filter.event_name) {
        let mut days = BTreeMap::new();
        for (_, at, _) in &expected {
            *days.entry(at - at.rem_euclid(86_400_000)).or_insert(0_u64) += 1;
        }
        let question =
            Aggregate { start_ms: filter.start_ms, end_ms: filter.end_ms, ..counted(name) };
        let buckets = asked(analytics, workspace, &question).await;
        let found = buckets.into_iter().map(|bucket| (bucket.period_ms, bucket.count)).collect();
        assert_eq!(days, found, "{filter:?}");
    }
}

#[tokio::test]
async fn reads_are_exact_with_repeats_in_unmerged_parts() {
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for _ in 0..ROUNDS {
        let workspace = Uuid::now_v7();
        let mut arrived = Vec::new();
        for _ in 0..INSERTS {
            let batch: Vec<Event> =
                (0..EVENTS_AN_INSERT).map(|_| any_event(workspace, &mut runner)).collect();
            insert(&analytics, &batch).await;
            arrived.extend(batch);
        }
        let there = model(&arrived);
        assert!(there.len() < arrived.len() / 2, "too few repeats to prove anything");
        for filter in filters() {
            hold(&analytics, workspace, &there, &filter).await;
        }
    }
}
