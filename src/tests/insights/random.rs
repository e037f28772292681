//! Random histories of people with several identifiers, each insight compared with a model over plain vectors.

use std::collections::{BTreeMap, BTreeSet};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Value, json};

use super::{
    model::{self, Happened},
    track, trends,
};
use crate::{
    export::fixture::rows,
    identity::link,
    kit::{Workspace, eventually},
};

const SEED: u64 = 20_261_125;
const PEOPLE: usize = 40;
const EVENTS: usize = 900;
const NAMES: [&str; 4] = ["Viewed", "Added", "Bought", "Noise"];
const COUNTRIES: [&str; 3] = ["DE", "FR", "IT"];
/// Midnights of New York; the clocks go forward on the 8th of March 2026.
const MIDNIGHTS: [&str; 7] = [
    "2026-03-06T05:00:00Z",
    "2026-03-07T05:00:00Z",
    "2026-03-08T05:00:00Z",
    "2026-03-09T04:00:00Z",
    "2026-03-10T04:00:00Z",
    "2026-03-11T04:00:00Z",
    "2026-03-12T04:00:00Z",
];

fn ms(text: &str) -> i64 {
    chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
}

fn midnights() -> Vec<i64> {
    MIDNIGHTS.iter().map(|text| ms(text)).collect()
}

/// The field of an event in which internal ids are sent: identifiers are joined in other ways without `serviceUserId`.
#[derive(Clone, Copy)]
enum InternalIdIn {
    ServiceUserId,
    UserId,
}

impl InternalIdIn {
    fn field(self) -> &'static str {
        match self {
            Self::ServiceUserId => "serviceUserId",
            Self::UserId => "userId",
        }
    }
}

/// Identifiers of a person, each as the fields of an event that carry it.
async fn identifiers(
    workspace: &Workspace,
    dice: &mut StdRng,
    person: usize,
    internal: InternalIdIn,
) -> Vec<Value> {
    let external = format!("person-{person}");
    match person % 4 {
        // Without a profile: an external id, or an anonymous id alone.
        0 => vec![json!({"userId": external})],
        1 => vec![json!({"anonymousId": external})],
        _ => {
            let made =
                workspace.api.post("/users", &json!({"externalId": external}), 201).await.json();
            let id = made["id"].as_str().unwrap().to_owned();
            let mut all = vec![json!({"userId": external}), json!({internal.field(): id})];
            for device in 0..dice.random_range(0..3) {
                let anonymous = format!("device-{person}-{device}");
                link(workspace, &anonymous, &id).await;
                all.push(json!({"anonymousId": anonymous}));
            }
            if person % 4 == 3 {
                let other = format!("other-{person}");
                workspace.api.post("/users", &json!({"externalId": other}), 201).await;
                workspace
                    .api
                    .post("/users/merge", &json!({"from": other, "into": external}), 200)
                    .await;
                all.push(json!({"userId": other}));
            }
            all
        }
    }
}

fn count_people(events: &[Happened]) -> usize {
    events.iter().map(|it| it.person).collect::<BTreeSet<_>>().len()
}

struct World {
    workspace: Workspace,
    events: Vec<Happened>,
}

/// People and their events: ties in time, repeats, and both sides of midnight.
async fn world(internal: InternalIdIn) -> World {
    let mut dice = StdRng::seed_from_u64(SEED);
    let workspace = Workspace::new().await;
    let mut people = Vec::new();
    for person in 0..PEOPLE {
        people.push(identifiers(&workspace, &mut dice, person, internal).await);
    }
    let (start, end) = (ms(MIDNIGHTS[0]) - 3_600_000, ms(MIDNIGHTS[6]) + 3_600_000);
    let instants: Vec<i64> = (0..200)
        .map(|_| dice.random_range(start..end))
        .chain(midnights())
        .chain(midnights().iter().map(|it| it - 1))
        .collect();
    let (mut events, mut sent) = (Vec::new(), Vec::new());
    for number in 0..EVENTS {
        let person = dice.random_range(0..PEOPLE);
        let event = Happened {
            person,
            name: NAMES.choose(&mut dice).unwrap(),
            at_ms: *instants.choose(&mut dice).unwrap(),
            country: COUNTRIES.choose(&mut dice).copied().filter(|_| dice.random_bool(0.8)),
            total: dice.random_bool(0.7).then(|| f64::from(dice.random_range(-400..4000)) / 4.0),
        };
        let mut body = people[person].choose(&mut dice).unwrap().clone();
        body["eventName"] = json!(event.name);
        body["clientEventId"] = json!(format!("event-{number}"));
        body["timestamp"] = json!(kernel::Timestamp::from_millis(event.at_ms).to_string());
        body["properties"] = json!({"country": event.country});
        if let Some(total) = event.total {
            body["properties"]["total"] =
                if dice.random_bool(0.5) { json!(total) } else { json!(total.to_string()) };
        }
        if dice.random_bool(0.1) {
            sent.push(body.clone());
        }
        sent.push(body);
        events.push(event);
    }
    track(&workspace, &sent).await;
    let unique = json!({"series": [{"metric": "unique"}], "interval": "none", "from": "2026-03-01", "to": "2026-03-20"});
    let expected = count_people(&events);
    eventually("links are visible", async || {
        let answer = trends(&workspace, unique.clone()).await;
        (answer["series"][0]["total"] == expected).then_some(())
    })
    .await;
    World { workspace, events }
}

fn near(found: &Value, expected: Option<f64>, what: &str) {
    match expected {
        None => assert_eq!(found, &Value::Null, "{what}"),
        Some(expected) => {
            let value =
                found.as_f64().unwrap_or_else(|| panic!("{what}: {found} is not {expected}"));
            assert!(
                (value - expected).abs() < 1e-6 * expected.abs().max(1.0),
                "{what}: {value} is not {expected}"
            );
        }
    }
}

async fn trends_agree(world: &World) {
    let starts = midnights();
    let (days, end) = (&starts[..6], starts[6] - 1);
    let metrics = ["count", "unique", "perUser", "sum", "avg", "min", "max", "p50", "p90", "p95"];
    for country in [None, Some("DE")] {
        let filters = country.map_or(
            json!([]),
            |it| json!([{"property": "country", "operator": "equals", "value": it}]),
        );
        let series = metrics.map(|metric| {
            let mut series = json!({"eventName": "Bought", "metric": metric, "filters": filters});
            if !["count", "unique", "perUser"].contains(&metric) {
                series["field"] = json!("total");
            }
            series
        });
        let question = json!({"series": series, "from": "2026-03-06", "to": "2026-03-11", "timezone": "America/New_York"});
        let answer = trends(&world.workspace, question).await;
        let chosen: Vec<&Happened> = world
            .events
            .iter()
            .filter(|it| {
                it.name == "Bought" && country.is_none_or(|country| it.country == Some(country))
            })
            .collect();
        let intervals = model::by_interval(&chosen, days, end);
        for (metric, found) in metrics.iter().zip(answer["series"].as_array().unwrap()) {
            for (place, events) in intervals.iter().enumerate() {
                near(
                    &found["values"][place],
                    model::figure(metric, events),
                    &format!("{metric} of day {place}"),
                );
            }
            near(
                &found["total"],
                model::figure(metric, &intervals.concat()),
                &format!("total {metric}"),
            );
        }
    }
}

async fn breakdowns_agree(world: &World) {
    let starts = midnights();
    let question = json!({
        "series": [{"metric": "unique"}], "from": "2026-03-06", "to": "2026-03-11", "timezone": "America/New_York",
        "breakdown": {"property": "country"},
    });
    let answer = trends(&world.workspace, question).await;
    let series = answer["series"].as_array().unwrap();
    assert_eq!(series.len(), 4);
    for found in series {
        let value = found["breakdown"].as_str();
        let chosen: Vec<&Happened> = world.events.iter().filter(|it| it.country == value).collect();
        let intervals = model::by_interval(&chosen, &starts[..6], starts[6] - 1);
        for (place, events) in intervals.iter().enumerate() {
            near(
                &found["values"][place],
                model::figure("unique", events),
                &format!("{value:?} {place}"),
            );
        }
    }
}

async fn funnels_agree(world: &World) {
    let starts = midnights();
    for (steps, hours) in [
        (&["Viewed", "Added", "Bought"][..], 24),
        (&["Viewed", "Bought"], 1),
        (&["Added", "Added", "Added", "Added"], 48),
    ] {
        let question = json!({
            "steps": steps.iter().map(|name| json!({"eventName": name})).collect::<Vec<_>>(),
            "window": {"amount": hours, "unit": "hours"}, "from": "2026-03-06", "to": "2026-03-10", "timezone": "America/New_York",
        });
        let answer = world.workspace.api.post("/insights/funnels", &question, 200).await.json();
        let expected =
            model::funnel(&world.events, steps, starts[0]..=starts[5] - 1, hours * 3_600_000);
        let found: Vec<Value> =
            answer["steps"].as_array().unwrap().iter().map(|it| it["people"].clone()).collect();
        assert_eq!(json!(found), json!(expected), "{steps:?} within {hours} hours");
        assert_eq!(answer["entered"], expected[0]);
    }
}

async fn retention_agrees(world: &World) {
    let starts = midnights();
    for mode in ["classic", "rolling"] {
        let question = json!({
            "start": {"eventName": "Viewed"}, "return": {"eventName": "Bought"}, "interval": "day", "intervals": 4,
            "mode": mode, "from": "2026-03-06", "to": "2026-03-08", "timezone": "America/New_York",
        });
        let answer = world.workspace.api.post("/insights/retention", &question, 200).await.json();
        let asked = model::Retention {
            begins: "Viewed",
            returns: "Bought",
            starts: &starts,
            cohorts: 3,
            followed: 4,
            is_rolling: mode == "rolling",
        };
        let expected = model::retention(&world.events, asked);
        for (cohort, (size, values)) in answer["cohorts"].as_array().unwrap().iter().zip(expected) {
            assert_eq!(
                (&cohort["size"], &cohort["values"]),
                (&json!(size), &json!(values)),
                "{mode} {cohort}"
            );
        }
    }
}

/// In an export each person has one id, which no other has.
async fn exports_agree(world: &World) {
    let rows = rows(&world.workspace.api, "?from=2026-03-01&to=2026-03-20").await;
    let mut ids: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for row in &rows {
        let Some(number) = row["event_id"].as_str().unwrap().strip_prefix("event-") else {
            continue;
        };
        let person = world.events[number.parse::<usize>().unwrap()].person;
        ids.entry(person).or_default().insert(row["person_id"].as_str().unwrap());
    }
    for (person, ids) in &ids {
        assert_eq!(ids.len(), 1, "person {person} is {ids:?}");
    }
    let distinct: BTreeSet<&str> = ids.values().flatten().copied().collect();
    assert_eq!(distinct.len(), ids.len());
    assert_eq!(ids.len(), count_people(&world.events));
}

#[tokio::test]
async fn insights_are_those_of_an_independent_computation() {
    eprintln!("seed {SEED}");
    let world = world(InternalIdIn::ServiceUserId).await;
    trends_agree(&world).await;
    breakdowns_agree(&world).await;
    funnels_agree(&world).await;
    retention_agrees(&world).await;
    exports_agree(&world).await;
}

#[tokio::test]
async fn insights_of_events_without_service_ids_are_those_of_an_independent_computation() {
    eprintln!("seed {SEED}");
    let world = world(InternalIdIn::UserId).await;
    trends_agree(&world).await;
    breakdowns_agree(&world).await;
    funnels_agree(&world).await;
    retention_agrees(&world).await;
}
