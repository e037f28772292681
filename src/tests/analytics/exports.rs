//! Exports in small windows: each event once, in order, and whose it is.

use std::ops::ControlFlow;

use analytics::{
    Analytics, AnalyticsError,
    events::{ExportFilter, ExportPosition, export},
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::json;
use uuid::Uuid;

use super::fixture::{Event, event, insert, insert_into, ms, stop_merges};
use crate::kit;

/// What is read back of an event: its position, and its person.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Exported {
    position: ExportPosition,
    person: String,
}

/// Everything that an export gives, asked for in pieces of so many events.
async fn exported(
    analytics: &Analytics,
    workspace: Uuid,
    filter: ExportFilter,
    piece: usize,
) -> Vec<Exported> {
    let mut export = export(analytics, workspace, filter).unwrap();
    let mut all = Vec::new();
    loop {
        let until = all.len() + piece;
        let is_at_end = export
            .read(|event| -> Result<ControlFlow<()>, AnalyticsError> {
                all.push(Exported {
                    position: ExportPosition {
                        timestamp_ms: event.timestamp_ms,
                        event_id: event.event_id.to_owned(),
                        event_name: event.name.to_owned(),
                        key_day: event.key_day,
                    },
                    person: event.person_id.to_owned(),
                });
                let is_full = all.len() == until;
                Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
            .await
            .unwrap();
        if is_at_end {
            return all;
        }
    }
}

fn windows_of(events: u64) -> ExportFilter {
    ExportFilter { window_events: Some(events), ..ExportFilter::default() }
}

fn ids(all: &[Exported]) -> Vec<&str> {
    all.iter().map(|it| it.position.event_id.as_str()).collect()
}

/// Events of four months: several of one millisecond, repeats with other times, stamped by the server and not, the same
/// id under two names.
fn random_events(workspace: Uuid, random: &mut StdRng) -> Vec<Event> {
    let mut events = Vec::new();
    for number in 0..160 {
        let (month, day) = (random.random_range(1..=4), random.random_range(1..=28));
        let minute = random.random_range(0..3);
        let at = format!("2024-{month:02}-{day:02}T10:{minute:02}:00.{:03}Z", number % 2);
        let name = ["Seen", "Bought", "Left"][random.random_range(0..3)];
        let id = format!("e{}", random.random_range(0..100));
        let mut one = event(workspace, name, &id, &at).of("ann").with(json!({"n": number}));
        one.is_server_stamped = random.random_bool(0.4);
        events.push(one);
    }
    events
}

#[tokio::test]
async fn events_come_once_in_order_whatever_the_windows() {
    let analytics = kit::clickhouse_database().await;
    stop_merges(&analytics).await;
    let mut random = StdRng::seed_from_u64(7);
    let (workspace, other) = (Uuid::now_v7(), Uuid::now_v7());
    let events = random_events(workspace, &mut random);
    for some in events.chunks(36) {
        insert(&analytics, some).await;
    }
    insert(&analytics, &random_events(other, &mut random)).await;

    // Independently: of each key the first arrival, sorted.
    let mut expected: Vec<ExportPosition> = Vec::new();
    for one in &events {
        let timestamp_ms = ms(&one.at);
        let day = timestamp_ms.div_euclid(86_400_000);
        let of_month = one.at[8..10].parse::<i64>().unwrap();
        let key_day = if one.is_server_stamped { day - of_month + 1 } else { day };
        let position = ExportPosition {
            timestamp_ms,
            event_id: one.id.clone(),
            event_name: one.name.clone(),
            key_day: u16::try_from(key_day).unwrap(),
        };
        let is_repeat = expected.iter().any(|it| {
            it.event_id == position.event_id
                && it.event_name == position.event_name
                && it.key_day == position.key_day
        });
        if !is_repeat {
            expected.push(position);
        }
    }
    expected.sort();
    assert!(expected.len() < events.len(), "some are repeats");
    for (window, piece) in [(1, 1), (3, 1_000), (50, 7), (100_000, 1_000)] {
        let all = exported(&analytics, workspace, windows_of(window), piece).await;
        let positions: Vec<ExportPosition> = all.into_iter().map(|it| it.position).collect();
        assert_eq!(positions, expected, "windows of {window} events");
    }
    // After each of them comes the rest, also within a millisecond.
    for (at, after) in expected.iter().enumerate().step_by(11) {
        let filter = ExportFilter { after: Some(after.clone()), ..windows_of(40) };
        let rest = exported(&analytics, workspace, filter, 1_000).await;
        assert!(rest.iter().map(|it| &it.position).eq(&expected[at + 1..]), "after {after:?}");
    }
    let named = ExportFilter { event_name: Some("Left".to_owned()), ..windows_of(9) };
    let named = exported(&analytics, workspace, named, 1_000).await;
    let of_name = expected.iter().filter(|it| it.event_name == "Left");
    assert!(named.iter().map(|it| &it.position).eq(of_name));
}

#[tokio::test]
async fn both_ends_of_a_range_belong_to_it() {
    let analytics = kit::clickhouse_database().await;
    let workspace = Uuid::now_v7();
    let at = ["2024-01-31T23:59:59.999Z", "2024-02-01T00:00:00Z", "2024-02-01T00:00:00.001Z"];
    let events: Vec<Event> =
        at.iter().zip(["a", "b", "c"]).map(|(at, id)| event(workspace, "A", id, at)).collect();
    insert(&analytics, &events).await;
    let cases: [(Option<&str>, Option<&str>, &[&str]); 7] = [
        (None, None, &["a", "b", "c"]),
        (Some(at[0]), Some(at[2]), &["a", "b", "c"]),
        (Some(at[1]), Some(at[1]), &["b"]),
        (Some(at[1]), None, &["b", "c"]),
        (None, Some(at[1]), &["a", "b"]),
        (Some("2024-02-01T00:00:00.002Z"), None, &[]),
        (None, Some("2024-01-31T23:59:59.998Z"), &[]),
    ];
    for (start, end, expected) in cases {
        for window in [1, 100] {
            let (start_ms, end_ms) = (start.map(ms), end.map(ms));
            let filter = ExportFilter { start_ms, end_ms, ..windows_of(window) };
            let all = exported(&analytics, workspace, filter, 10).await;
            assert_eq!(ids(&all), expected, "{start:?} {end:?}");
        }
    }
}

#[tokio::test]
async fn a_person_is_the_profile_that_the_identifiers_belong_to() {
    let analytics = kit::clickhouse_database().await;
    let (workspace, other) = (Uuid::now_v7(), Uuid::now_v7());
    let [ann, bob, merged] =
        ["aaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccccccc"];
    let people = [
        (workspace, ann, "ann", 1, 0),
        // Bob was called bobby before, and ann of another workspace is another person.
        (workspace, bob, "bobby", 1, 0),
        (workspace, bob, "bob", 2, 0),
        (workspace, merged, "gone", 1, 0),
        (workspace, merged, "", 2, 1),
        (other, bob, "ann", 9, 0),
    ];
    let rows = people.map(|(workspace, id, external, version, is_deleted)| {
        format!("('{workspace}', unhex('{id}'), {version}, {is_deleted}, '{external}')")
    });
    let insert_people = format!(
        "INSERT INTO people (workspace_id, user_id, version, is_deleted, external_id) VALUES {}",
        rows.join(", ")
    );
    super::fixture::run(&analytics, &insert_people).await;
    let identity = |kind: &str, id: &str, user: &str, version: u64| {
        json!({"workspace_id": workspace, "type": kind, "id": id, "user_id": user, "version": version})
            .to_string()
    };
    let identities = [
        identity("anonymous", "phone", bob, 1),
        identity("anonymous", "phone", ann, 2),
        identity("anonymous", "free", "", 3),
        identity("internal", merged, ann, 2),
        identity("external", "gone", ann, 2),
        identity("alias", "annie", ann, 2),
    ];
    insert_into(&analytics, "identities", &identities.join("\n")).await;

    let at = "2024-01-05T10:00:00Z";
    let mut events = Vec::new();
    let mut expected = Vec::new();
    let mut add = |user: &str, service: &str, anonymous: &str, person: &str| {
        let id = format!("{:02}", events.len());
        let mut one = event(workspace, "A", &id, at).of(user);
        one.service_user_id = service.to_owned();
        one.anonymous_id = anonymous.to_owned();
        events.push(one);
        expected.push(person.to_owned());
    };
    add("ann", "", "", ann);
    add("ann", "", "phone", ann);
    add("bob", "", "phone", bob);
    add("bobby", "", "", "bobby");
    add("annie", "", "", ann);
    add("gone", "", "", ann);
    add(merged, "", "", ann);
    add("", merged, "", ann);
    add("bob", bob, "", bob);
    add("", "dddddddddddddddddddddddd", "", "dddddddddddddddddddddddd");
    add("", "", "phone", ann);
    add("", "", "free", "free");
    add("", "", "unknown", "unknown");
    add("phone", "", "", ann);
    add("unknown", "", "phone", "unknown");
    insert(&analytics, &events).await;
    let all = exported(&analytics, workspace, windows_of(4), 100).await;
    let persons: Vec<String> = all.into_iter().map(|it| it.person).collect();
    assert_eq!(persons, expected);
}
