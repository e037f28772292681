//! Random histories of people with several identifiers, each insight compared with a model over plain vectors.

use std::collections::{BTreeMap, BTreeSet};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Value, json};

use super::{
    model::{self, Attempt, Happened},
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

/// Six days on the clocks of a time zone.
struct Calendar {
    zone: &'static str,
    days: [&'static str; 6],
    /// When each day begins, and the one after them.
    midnights: [&'static str; 7],
}

/// The clocks go forward on the 8th of March 2026.
const NEW_YORK: Calendar = Calendar {
    zone: "America/New_York",
    days: ["2026-03-06", "2026-03-07", "2026-03-08", "2026-03-09", "2026-03-10", "2026-03-11"],
    midnights: [
        "2026-03-06T05:00:00Z",
        "2026-03-07T05:00:00Z",
        "2026-03-08T05:00:00Z",
        "2026-03-09T04:00:00Z",
        "2026-03-10T04:00:00Z",
        "2026-03-11T04:00:00Z",
        "2026-03-12T04:00:00Z",
    ],
};
/// The same days on clocks that are half an hour apart from UTC's.
const KOLKATA: Calendar = Calendar {
    zone: "Asia/Kolkata",
    days: NEW_YORK.days,
    midnights: [
        "2026-03-05T18:30:00Z",
        "2026-03-06T18:30:00Z",
        "2026-03-07T18:30:00Z",
        "2026-03-08T18:30:00Z",
        "2026-03-09T18:30:00Z",
        "2026-03-10T18:30:00Z",
        "2026-03-11T18:30:00Z",
    ],
};
/// The clocks go back on the 5th of April 2026: it has an hour twice.
const SYDNEY: Calendar = Calendar {
    zone: "Australia/Sydney",
    days: ["2026-04-02", "2026-04-03", "2026-04-04", "2026-04-05", "2026-04-06", "2026-04-07"],
    midnights: [
        "2026-04-01T13:00:00Z",
        "2026-04-02T13:00:00Z",
        "2026-04-03T13:00:00Z",
        "2026-04-04T13:00:00Z",
        "2026-04-05T14:00:00Z",
        "2026-04-06T14:00:00Z",
        "2026-04-07T14:00:00Z",
    ],
};
const HOUR_MS: i64 = 3_600_000;

impl Calendar {
    fn midnights(&self) -> Vec<i64> {
        self.midnights.iter().map(|text| ms(text)).collect()
    }

    /// A question about days from one to another, both of them included.
    fn ask(&self, from: usize, to: usize, further: Value) -> Value {
        let mut question =
            json!({"from": self.days[from], "to": self.days[to], "timezone": self.zone});
        question.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        question
    }
}

fn ms(text: &str) -> i64 {
    chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
}

fn instant(at_ms: i64) -> String {
    kernel::Timestamp::from_millis(at_ms).to_string()
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

/// Something that a person did.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    person: usize,
    at_ms: i64,
}

struct World {
    workspace: Workspace,
    events: Vec<Happened>,
}

/// People and their events: ties in time, repeats, and both sides of midnight.
async fn world(internal: InternalIdIn, calendar: &Calendar) -> World {
    let mut dice = StdRng::seed_from_u64(SEED);
    let workspace = Workspace::new().await;
    let mut people = Vec::new();
    for person in 0..PEOPLE {
        people.push(identifiers(&workspace, &mut dice, person, internal).await);
    }
    let midnights = calendar.midnights();
    let (start, end) = (midnights[0] - HOUR_MS, midnights[6] + HOUR_MS);
    let instants: Vec<i64> = (0..200)
        .map(|_| dice.random_range(start..end))
        .chain(midnights.iter().copied())
        .chain(midnights.iter().map(|it| it - 1))
        .collect();
    let (mut events, mut sent) = (Vec::new(), Vec::new());
    // Which of several events at one millisecond a person enters a funnel with is not said.
    let mut countries: BTreeMap<Moment, Option<&str>> = BTreeMap::new();
    for number in 0..EVENTS {
        let person = dice.random_range(0..PEOPLE);
        let at_ms = *instants.choose(&mut dice).unwrap();
        let country = COUNTRIES.choose(&mut dice).copied().filter(|_| dice.random_bool(0.8));
        let event = Happened {
            person,
            name: NAMES.choose(&mut dice).unwrap(),
            at_ms,
            country: *countries.entry(Moment { person, at_ms }).or_insert(country),
            total: dice.random_bool(0.7).then(|| f64::from(dice.random_range(-400..4000)) / 4.0),
        };
        let mut body = people[person].choose(&mut dice).unwrap().clone();
        body["eventName"] = json!(event.name);
        body["clientEventId"] = json!(format!("event-{number}"));
        body["timestamp"] = json!(instant(event.at_ms));
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
    let unique = json!({"series": [{"metric": "unique"}], "interval": "none", "from": instant(start), "to": instant(end)});
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

async fn trends_agree(world: &World, calendar: &Calendar) {
    let starts = calendar.midnights();
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
        let question = calendar.ask(0, 5, json!({"series": series}));
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

/// The days before are the same number of days, however long they are.
async fn comparisons_agree(world: &World, calendar: &Calendar) {
    let starts = calendar.midnights();
    let metrics = ["count", "unique", "sum"];
    let series = metrics.map(|metric| match metric {
        "sum" => json!({"eventName": "Bought", "metric": metric, "field": "total"}),
        _ => json!({"eventName": "Bought", "metric": metric}),
    });
    let further = json!({"series": series, "compare": "previous_period"});
    let answer = trends(&world.workspace, calendar.ask(3, 5, further)).await;
    let chosen: Vec<&Happened> = world.events.iter().filter(|it| it.name == "Bought").collect();
    let found = answer["series"].as_array().unwrap();
    assert_eq!(found.len(), 2 * metrics.len());
    for (metric, found) in metrics.iter().zip(found.chunks(2)) {
        for (found, first) in found.iter().zip([3, 0]) {
            let days = &starts[first..first + 3];
            let intervals = model::by_interval(&chosen, days, starts[first + 3] - 1);
            let what = format!("{metric} from day {first}");
            assert_eq!(found["compared"], first == 0, "{what}");
            for (place, events) in intervals.iter().enumerate() {
                near(&found["values"][place], model::figure(metric, events), &what);
            }
            near(&found["total"], model::figure(metric, &intervals.concat()), &what);
        }
    }
}

/// Hours are of one length, however the clocks count them.
async fn hours_agree(world: &World, calendar: &Calendar) {
    let midnights = calendar.midnights();
    let hours = (midnights[6] - midnights[0]) / HOUR_MS;
    let starts: Vec<i64> = (0..hours).map(|hour| midnights[0] + hour * HOUR_MS).collect();
    let question = calendar.ask(0, 5, json!({"series": [{}], "interval": "hour"}));
    let answer = trends(&world.workspace, question).await;
    let found: Vec<i64> = answer["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|start| ms(start.as_str().unwrap()))
        .collect();
    assert_eq!(found, starts, "{}", calendar.zone);
    let all: Vec<&Happened> = world.events.iter().collect();
    let counts: Vec<usize> =
        model::by_interval(&all, &starts, midnights[6] - 1).iter().map(Vec::len).collect();
    assert_eq!(answer["series"][0]["values"], json!(counts), "{}", calendar.zone);
}

async fn breakdowns_agree(world: &World, calendar: &Calendar) {
    let starts = calendar.midnights();
    let further = json!({"series": [{"metric": "unique"}], "breakdown": {"property": "country"}});
    let answer = trends(&world.workspace, calendar.ask(0, 5, further)).await;
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

/// Countries of a funnel's breakdown.
const COUNTRIES_SHOWN: usize = 2;

async fn funnels_agree(world: &World, calendar: &Calendar) {
    let starts = calendar.midnights();
    for (steps, hours) in [
        (&["Viewed", "Added", "Bought"][..], 24),
        (&["Viewed", "Bought"], 1),
        (&["Added", "Added", "Added", "Added"], 48),
    ] {
        for order in ["any_between", "strict"] {
            let further = json!({
                "steps": steps.iter().map(|name| json!({"eventName": name})).collect::<Vec<_>>(),
                "window": {"amount": hours, "unit": "hours"}, "order": order,
                "breakdown": {"property": "country", "limit": COUNTRIES_SHOWN},
            });
            let question = calendar.ask(0, 4, further);
            let answer = world.workspace.api.post("/insights/funnels", &question, 200).await.json();
            let asked = model::Funnel {
                steps,
                entries: starts[0]..=starts[5] - 1,
                window_ms: hours * HOUR_MS,
                is_strict: order == "strict",
            };
            let attempts = model::attempts(&world.events, &asked);
            let what = format!("{order} {steps:?} within {hours} hours");
            let expected = model::reached(attempts.iter(), steps.len());
            assert!(expected[1] > 0, "no person goes through {what}");
            assert_eq!(people(&answer["steps"]), json!(expected), "{what}");
            assert_eq!(answer["entered"], expected[0], "{what}");
            let found = answer["breakdown"].as_array().unwrap().iter();
            let found: Vec<Value> = found
                .map(|it| json!([it["breakdown"], it["other"], people(&it["steps"])]))
                .collect();
            assert_eq!(json!(found), json!(by_country(&attempts, steps.len())), "{what}");
        }
    }
}

/// The people of each step.
fn people(steps: &Value) -> Value {
    let steps = steps.as_array().unwrap().iter();
    steps.map(|step| step["people"].clone()).collect()
}

/// The largest countries, those without one, and the rest: each with the people of each step.
fn by_country(attempts: &[Attempt], steps: usize) -> Vec<Value> {
    let mut countries: BTreeMap<Option<&str>, Vec<&Attempt>> = BTreeMap::new();
    for attempt in attempts {
        countries.entry(attempt.country).or_default().push(attempt);
    }
    let absent = countries.remove(&None);
    let mut named: Vec<Vec<&Attempt>> = countries.into_values().collect();
    // Of as many people they stay in the order of their names.
    named.sort_by_key(|of| std::cmp::Reverse(of.len()));
    let rest = named.split_off(named.len().min(COUNTRIES_SHOWN));
    let reached = |of: Vec<&Attempt>| model::reached(of.into_iter(), steps);
    let mut rows: Vec<Value> =
        named.into_iter().map(|of| json!([of[0].country, false, reached(of)])).collect();
    rows.extend(absent.map(|of| json!([null, false, reached(of)])));
    if !rest.is_empty() {
        rows.push(json!([null, true, reached(rest.concat())]));
    }
    rows
}

async fn retention_agrees(world: &World, calendar: &Calendar) {
    let starts = calendar.midnights();
    for mode in ["classic", "rolling"] {
        let further = json!({
            "start": {"eventName": "Viewed"}, "return": {"eventName": "Bought"}, "interval": "day", "intervals": 4,
            "mode": mode,
        });
        let question = calendar.ask(0, 2, further);
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

async fn all_agree(world: &World, calendar: &Calendar) {
    trends_agree(world, calendar).await;
    comparisons_agree(world, calendar).await;
    hours_agree(world, calendar).await;
    breakdowns_agree(world, calendar).await;
    funnels_agree(world, calendar).await;
    retention_agrees(world, calendar).await;
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
    let world = world(InternalIdIn::ServiceUserId, &NEW_YORK).await;
    all_agree(&world, &NEW_YORK).await;
    all_agree(&world, &KOLKATA).await;
    exports_agree(&world).await;
}

#[tokio::test]
async fn insights_of_events_without_service_ids_are_those_of_an_independent_computation() {
    eprintln!("seed {SEED}");
    let world = world(InternalIdIn::UserId, &NEW_YORK).await;
    all_agree(&world, &NEW_YORK).await;
}

#[tokio::test]
async fn insights_where_the_clocks_go_back_are_those_of_an_independent_computation() {
    eprintln!("seed {SEED}");
    let world = world(InternalIdIn::ServiceUserId, &SYDNEY).await;
    all_agree(&world, &SYDNEY).await;
}
