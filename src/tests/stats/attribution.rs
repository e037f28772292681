//! Conversions of many events, of people with several identifiers, deleted people, and copies that are late.

use std::collections::{BTreeMap, BTreeSet};

use ingest::record::MessageKind as K;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use reqwest::Method;
use serde_json::{Value, json};
use stats::{
    model::outcome::{MessageGroup, Outcomes},
    ops::{CreditFilter, ReportScope, Scan, credits},
};
use uuid::Uuid;
use web::http::DateRange;

use super::{
    fixture::{
        H, campaign, hour, in_euros, iso, message_event, near, person, publish, report, track,
        variant,
    },
    model::{Counter, Credited, Message, ProfileEvent, Wanted, distinct, messages, shares},
};
use crate::{
    identity::{alias, link, merge},
    kit::{Workspace, server},
};

const SEED: u64 = 20_261_125;
const PEOPLE: usize = 200;
const EVENTS: usize = 50_000;

/// What a report says of conversions and revenue.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures {
    conversions: f64,
    people: u64,
    euros: f64,
    /// By assignment, with those held back.
    treated: u64,
    held_back: u64,
}

impl Figures {
    fn is_near(&self, other: &Self) -> bool {
        (self.conversions - other.conversions).abs() < 1e-6
            && (self.euros - other.euros).abs() < 1e-3
            && (self.people, self.treated, self.held_back)
                == (other.people, other.treated, other.held_back)
    }

    /// As the report shows them.
    fn shown(stats: &Value) -> Self {
        let primary = &stats["conversionStats"]["primary"];
        let uplift = &stats["uplift"];
        Self {
            conversions: primary["conversions"].as_f64().unwrap(),
            people: primary["uniqueConversions"].as_u64().unwrap(),
            euros: stats["revenue"]["total"].as_f64().unwrap(),
            treated: uplift["treatment"]["conversions"].as_u64().unwrap_or(0),
            held_back: uplift["control"]["conversions"].as_u64().unwrap_or(0),
        }
    }
}

/// The same, computed in one way.
async fn scanned(workspace: &Workspace, campaign: Uuid, scan: Scan) -> Figures {
    let (workspace, campaign) = (workspace.id, kernel::CampaignId::new(campaign));
    server()
        .with(async move |app| {
            let app = app.services().clone();
            let scope = ReportScope::find(&app, workspace, campaign, DateRange::default()).await;
            let filter = CreditFilter { by_assignment: true, scan, ..CreditFilter::default() };
            let found = credits(&app, &scope.unwrap(), Some("EUR"), &filter).await.unwrap();
            let (sent, assigned) =
                (Outcomes::of(&found.credited), Outcomes::of(&found.by_assignment));
            let converted = sent.converted(0, MessageGroup::is_sent);
            Figures {
                conversions: converted.conversions,
                people: converted.people,
                euros: sent.earned("EUR", MessageGroup::is_sent).amount / 1e4,
                treated: assigned.converted(0, MessageGroup::is_assigned).people,
                held_back: assigned.converted(0, MessageGroup::is_control).people,
            }
        })
        .await
}

/// Fails unless the report and each way of computing it give these.
async fn agree(workspace: &Workspace, campaign: Uuid, expected: &Figures, what: &str) {
    let shown = Figures::shown(&report(workspace, campaign, "stats").await);
    assert!(shown.is_near(expected), "{what}: {shown:?} is not {expected:?}");
    for in_postgres in [false, true] {
        for events_at_once in [None, Some(7_000), Some(1)] {
            // One at a time is for few events.
            if events_at_once == Some(1) && expected.conversions > 100.0 {
                continue;
            }
            for by_people in [false, true].into_iter().filter(|it| !in_postgres || !it) {
                let scan = Scan { in_postgres, events_at_once, by_people: Some(by_people) };
                let found = scanned(workspace, campaign, scan).await;
                assert!(found.is_near(expected), "{what}, {scan:?}: {found:?} is not {expected:?}");
            }
        }
    }
}

/// A person with several profiles and identifiers.
struct Human {
    /// The internal ids of the profiles that were merged into one.
    profiles: Vec<String>,
    /// Fields of events by which they are known.
    named: Vec<Value>,
}

async fn human(workspace: &Workspace, dice: &mut StdRng, number: usize) -> Human {
    let (external, internal) = person(workspace).await;
    let mut human = Human {
        named: vec![
            json!({"userId": external}),
            json!({"userId": internal}),
            json!({"userId": external, "serviceUserId": internal}),
        ],
        profiles: vec![internal.clone()],
    };
    if dice.random_bool(0.3) {
        let anonymous = format!("anonymous-{number}");
        link(workspace, &anonymous, &internal).await;
        human.named.push(json!({"anonymousId": anonymous}));
        human.named.push(json!({"userId": anonymous}));
    }
    if dice.random_bool(0.2) {
        let (former, former_id) = person(workspace).await;
        merge(workspace, &former, &external).await;
        human.named.push(json!({"userId": former}));
        human.named.push(json!({"serviceUserId": former_id}));
        human.profiles.push(former_id);
    }
    human
}

fn goal(name: &str, least: f64) -> Value {
    let conditions = json!([{"field": "total", "operator": "gte", "value": least}]);
    json!({"eventName": name, "conditions": if least > 0.0 { conditions } else { json!([]) }})
}

/// What the independent model says.
fn expected(
    own: &Counter,
    all: &[Counter],
    messages: &[Message],
    profile_events: &[ProfileEvent],
) -> Figures {
    let of = |goal, credited| shares(own, all, messages, profile_events, Wanted { goal, credited });
    let people = |credited, is_control: bool| {
        let found = of(Some(0), credited);
        let its = found.iter().filter(|it| it.message.is("control") == is_control);
        its.map(|it| it.message.user.as_str()).collect::<BTreeSet<_>>().len() as u64
    };
    let sent = of(Some(0), Credited::Sent);
    let money = of(None, Credited::Sent);
    let left = |it: &&super::model::Share<'_>| !it.message.is("control");
    Figures {
        conversions: sent.iter().filter(left).map(|it| it.part).sum(),
        people: people(Credited::Sent, false),
        euros: money.iter().filter(left).map(|it| it.part * it.profile_event.total).sum(),
        treated: people(Credited::Assigned, false),
        held_back: people(Credited::Assigned, true),
    }
}

#[expect(clippy::too_many_lines, reason = "one scenario in order")]
#[tokio::test]
async fn fifty_thousand_events_of_people_with_several_ids_match_an_independent_model() {
    let workspace = in_euros().await;
    let mut dice = StdRng::seed_from_u64(SEED);
    let mut people = Vec::new();
    for number in 0..PEOPLE {
        people.push(human(&workspace, &mut dice, number).await);
    }
    let mut counters = Vec::new();
    for (least, window_hours, model) in
        [(10.0, 72, "last_touch"), (0.0, 24, "linear"), (30.0, 48, "first_touch")]
    {
        let goals = vec![("Order Completed", least)];
        let mut counter = Counter { campaign: Uuid::nil(), goals, window_hours, model };
        let variants = json!([variant("a", 90, false), variant("control", 10, true)]);
        let tracking = json!({
            "primaryConversion": goal("Order Completed", least),
            "conversionWindowHours": window_hours,
            "attributionModel": model,
        });
        let fields = json!({"variants": variants, "conversionTracking": tracking});
        counter.campaign = campaign(&workspace, fields).await;
        counters.push(counter);
    }
    // Times differ, so that no two touches are at one.
    let mut ticks = 0;
    let mut message_events = Vec::new();
    for counter in &counters {
        for human in &people {
            let (profile, kind) = (
                human.profiles.choose(&mut dice).unwrap(),
                [K::Sent, K::Sent, K::Control, K::Failed].choose(&mut dice).copied().unwrap(),
            );
            ticks += 1;
            let at = hour(0) + dice.random_range(0..72 * 60) * 60_000 + ticks;
            let variant = if kind == K::Control { "control" } else { "a" };
            message_events.push(message_event(counter.campaign, profile, kind, at).of(variant));
        }
    }
    let (mut profile_events, mut events) = (Vec::new(), Vec::new());
    for number in 0..EVENTS {
        let human = people.choose(&mut dice).unwrap();
        let total = f64::from(dice.random_range(1..=400)) / 4.0;
        let at = hour(0) + dice.random_range(0..24 * 7 * 60) * 60_000;
        let order = format!("o{}", dice.random_range(0..EVENTS * 9 / 10));
        let mut event = human.named.choose(&mut dice).unwrap().clone();
        event["eventName"] = json!("Order Completed");
        event["timestamp"] = json!(iso(at));
        event["clientEventId"] = json!(format!("e{number}"));
        event["properties"] = json!({"total": total, "currency": "EUR", "orderId": order});
        events.push(event);
        profile_events.push(ProfileEvent {
            user: human.profiles[0].clone(),
            name: "Order Completed",
            at,
            order: Some(order),
            total,
            currency: "EUR",
        });
    }
    publish(&workspace, &message_events).await;
    track(&workspace, &events, events.len()).await;

    let by_profile: BTreeMap<&String, &String> = people
        .iter()
        .flat_map(|human| human.profiles.iter().map(|profile| (profile, &human.profiles[0])))
        .collect();
    let mut messages = messages(&message_events);
    for message in &mut messages {
        message.user = by_profile[&message.user].clone();
    }
    let profile_events = distinct(&profile_events);
    for own in &counters {
        let expected = expected(own, &counters, &messages, &profile_events);
        assert!(expected.conversions > 1000.0 && expected.held_back > 10, "{expected:?}");
        agree(&workspace, own.campaign, &expected, own.model).await;
    }
}

/// A campaign whose message reached these profiles a minute apart, and counts `Bought` for an hour.
async fn reached(workspace: &Workspace, profiles: &[&str]) -> Uuid {
    let tracking =
        json!({"primaryConversion": {"eventName": "Bought"}, "conversionWindowHours": 1});
    let variants = json!([variant("a", 90, false), variant("control", 10, true)]);
    let fields = json!({"variants": variants, "conversionTracking": tracking});
    let id = campaign(workspace, fields).await;
    let events: Vec<_> = (0..)
        .zip(profiles)
        .map(|(minute, profile)| message_event(id, profile, K::Sent, hour(0) + minute * H / 60))
        .collect();
    publish(workspace, &events).await;
    id
}

/// A purchase within the hour after ten minutes.
fn bought(named: &Value, minute: i64) -> Value {
    let mut event = named.clone();
    event["eventName"] = json!("Bought");
    event["timestamp"] = json!(iso(hour(0) + (10 + minute) * H / 60));
    event
}

fn counted(conversions: u32, people: u64) -> Figures {
    Figures { conversions: conversions.into(), people, euros: 0.0, treated: people, held_back: 0 }
}

async fn delete(workspace: &Workspace, id: &str) {
    let deletion = workspace.api.request(Method::DELETE, &format!("/users/{id}"));
    workspace.api.send(deletion, 204).await;
}

#[tokio::test]
async fn each_identifier_leads_to_its_profile_at_once() {
    let workspace = in_euros().await;
    let (ann, ann_id) = person(&workspace).await;
    let (bob, bob_id) = person(&workspace).await;
    let id = reached(&workspace, &[&ann_id, &bob_id]).await;
    let events = [
        bought(&json!({"anonymousId": "browser"}), 1),
        bought(&json!({"userId": "browser"}), 2),
        bought(&json!({"userId": "nick"}), 3),
        bought(&json!({"userId": ann, "serviceUserId": bob_id}), 4),
        bought(&json!({"userId": "stranger", "serviceUserId": ann_id}), 5),
    ];
    track(&workspace, &events, 5).await;
    // The one with two people counts once, for the latest message to either.
    agree(&workspace, id, &counted(2, 2), "own ids").await;
    link(&workspace, "browser", &ann_id).await;
    agree(&workspace, id, &counted(4, 2), "a link").await;
    alias(&workspace, "nick", &bob).await;
    agree(&workspace, id, &counted(5, 2), "an alias").await;
    merge(&workspace, &ann, &bob).await;
    agree(&workspace, id, &counted(5, 1), "a merge").await;
}

#[tokio::test]
async fn deleted_people_keep_their_conversions_until_others_have_their_ids() {
    let workspace = in_euros().await;
    let (gone, gone_id) = person(&workspace).await;
    let (former, former_id) = person(&workspace).await;
    let (here, here_id) = person(&workspace).await;
    link(&workspace, "browser", &gone_id).await;
    merge(&workspace, &former, &gone).await;
    let id = reached(&workspace, &[&former_id, &here_id]).await;
    let events = [
        bought(&json!({"userId": gone}), 1),
        bought(&json!({"userId": gone_id}), 2),
        bought(&json!({"anonymousId": "browser"}), 3),
        bought(&json!({"userId": "browser"}), 4),
        bought(&json!({"userId": former}), 5),
        bought(&json!({"userId": former_id}), 6),
        bought(&json!({"userId": here}), 7),
    ];
    track(&workspace, &events, 7).await;
    agree(&workspace, id, &counted(7, 2), "before").await;
    delete(&workspace, &gone_id).await;
    agree(&workspace, id, &counted(7, 2), "deleted").await;
    // Anonymous ids of deleted profiles are free; so are their external ids.
    link(&workspace, "browser", &here_id).await;
    agree(&workspace, id, &counted(7, 2), "the browser is of another").await;
    let heir = json!({"externalId": gone, "email": "heir@example.test"});
    workspace.api.post("/users", &heir, 201).await;
    agree(&workspace, id, &counted(6, 2), "another has the external id").await;
}

#[tokio::test]
async fn external_ids_that_look_like_internal_ones_are_external() {
    let workspace = in_euros().await;
    let external = "65f0c0ffee65f0c0ffee65f0";
    let made = workspace.api.post("/users", &json!({"externalId": external}), 201).await.json();
    let internal = made["id"].as_str().unwrap();
    let unknown = "65f0c0ffee65f0c0ffee65f1";
    let id = reached(&workspace, &[internal, unknown]).await;
    let events = [bought(&json!({"userId": external}), 1), bought(&json!({"userId": unknown}), 2)];
    track(&workspace, &events, 2).await;
    agree(&workspace, id, &counted(2, 2), "one of a profile, one of none").await;
}

/// The lock of the process that copies profiles.
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended('millrace.people_mirror', 0))";

#[tokio::test]
async fn a_report_is_complete_while_copies_are_late() {
    let workspace = in_euros().await;
    let db = server().db();
    let lock = server()
        .on(async move {
            let mut tx = db.begin().await.unwrap();
            sqlx::query(LOCK).execute(&mut *tx).await.unwrap();
            tx
        })
        .await;
    let (late, late_id) = person(&workspace).await;
    let id = reached(&workspace, &[&late_id]).await;
    track(&workspace, &[bought(&json!({"userId": late}), 1)], 1).await;
    let stats = report(&workspace, id, "stats").await;
    let copied = server()
        .with(async move |app| {
            let sql = "SELECT count() FROM people WHERE external_id = ?";
            app.analytics().client().query(sql).bind(late).fetch_one::<u64>().await.unwrap()
        })
        .await;
    server().on(async move { lock.rollback().await.unwrap() }).await;
    assert_eq!(copied, 0, "the profile was not copied yet");
    assert!(near(&stats["conversionStats"]["primary"]["conversions"], 1.0), "{stats}");
    agree(&workspace, id, &counted(1, 1), "copied").await;
}
