//! Comparisons adjusted by what the same people did before.

use std::ops::Range;

use ingest::record::MessageKind as K;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    comparisons::{bought, codes, event, two_variants, user},
    fixture::{
        H, campaign, hour, in_euros, iso, message_event, near, person, publish, report, track,
    },
};
use crate::kit::{Workspace, server};

/// What a person did before, if that is known, and after.
#[derive(Debug, Clone, Copy)]
struct Person {
    before: Option<f64>,
    after: f64,
}

/// The adjusted comparison from its definition: difference, standard error and the reduction of the variance.
fn expected(own: &[Person], base: &[Person]) -> (f64, f64, f64, f64) {
    let all: Vec<Person> = own.iter().chain(base).copied().collect();
    let known: Vec<f64> = all.iter().filter_map(|it| it.before).collect();
    let middle = known.iter().sum::<f64>() / known.len() as f64;
    let x = |it: &Person| it.before.unwrap_or(middle) - middle;
    let covariance = |of: &[Person],
                      one: &dyn Fn(&Person) -> f64,
                      other: &dyn Fn(&Person) -> f64| {
        let count = of.len() as f64;
        let mean = |of_what: &dyn Fn(&Person) -> f64| of.iter().map(of_what).sum::<f64>() / count;
        let (first, second) = (mean(one), mean(other));
        of.iter().map(|it| (one(it) - first) * (other(it) - second)).sum::<f64>() / (count - 1.0)
    };
    let theta = covariance(&all, &x, &|it| it.after) / covariance(&all, &x, &x);
    let rest = |it: &Person| it.after - theta * x(it);
    let mean = |of: &[Person]| of.iter().map(rest).sum::<f64>() / of.len() as f64;
    let variance = |of: &[Person], value: &dyn Fn(&Person) -> f64| {
        covariance(of, value, value) / of.len() as f64
    };
    let adjusted = variance(own, &rest) + variance(base, &rest);
    let raw = variance(own, &|it| it.after) + variance(base, &|it| it.after);
    (mean(own), mean(base), adjusted.sqrt(), 1.0 - adjusted / raw)
}

#[track_caller]
fn is_adjusted(report: &Value, own: &[Person], base: &[Person]) {
    let found = &report["variants"][1]["comparison"]["adjusted"];
    let (mean, other, deviation, reduction) = expected(own, base);
    assert!(near(&found["lift"], mean / other - 1.0), "{found} {mean} {other}");
    assert!(near(&found["varianceReduction"], reduction), "{found} {reduction}");
    let z = (mean - other) / deviation;
    let p = statistics::gamma::two_sided(z);
    assert!(near(&found["pValue"], p), "{found} {p}");
    assert!(
        found["interval"]["lower"].as_f64() < found["lift"].as_f64()
            && found["lift"].as_f64() < found["interval"]["upper"].as_f64(),
        "{found}"
    );
}

fn adjusted(report: &Value) -> &Value {
    &report["variants"][1]["comparison"]["adjusted"]
}

/// Whether person number so opens.
fn opens(number: usize, salt: usize) -> bool {
    let habit = if number.is_multiple_of(3) { 8 } else { 2 };
    (number * 7 + salt * 5 + number / 11) % 10 < habit
}

/// A campaign to two variants, whose messages were assigned an hour before they left.
async fn with_opens(workspace: &Workspace) -> Uuid {
    let own = campaign(workspace, json!({"variants": two_variants()})).await;
    let mut all = Vec::new();
    for (_, variant, numbers) in SIDES {
        for number in numbers {
            let of = |kind, at| message_event(own, &user(number), kind, at).of(variant);
            all.push(of(K::Queued, hour(-1)));
            all.push(of(K::Sent, hour(0)));
            if opens(number, 9) {
                all.push(of(K::Opened, hour(2)));
            }
        }
    }
    publish(workspace, &all).await;
    own
}

/// The variants, and the numbers of their people.
const SIDES: [(usize, &str, Range<usize>); 2] = [(0, "a", 0..60), (1, "b", 100..170)];

/// Three earlier campaigns to four fifths of these people; what each did before and after.
async fn earlier_opens(workspace: &Workspace) -> [Vec<Person>; 2] {
    let mut people = [Vec::new(), Vec::new()];
    let mut earlier = Vec::new();
    let mut campaigns = Vec::new();
    for _ in 0..3 {
        campaigns.push(campaign(workspace, json!({})).await);
    }
    for (side, _, numbers) in SIDES {
        for number in numbers {
            let after = f64::from(u8::from(opens(number, 9)));
            if number % 5 == 4 {
                people[side].push(Person { before: None, after });
                continue;
            }
            let mut opened = 0;
            for (salt, id) in campaigns.iter().enumerate() {
                let of = |kind, at| message_event(*id, &user(number), kind, at);
                earlier.push(of(K::Sent, hour(-48)));
                if opens(number, salt) {
                    opened += 1;
                    earlier.push(of(K::Opened, hour(-47)));
                } else {
                    // When they were assigned already.
                    earlier.push(of(K::Opened, hour(-1)));
                }
            }
            people[side].push(Person { before: Some(f64::from(opened) / 3.0), after });
        }
    }
    publish(workspace, &earlier).await;
    people
}

#[tokio::test]
async fn opens_are_adjusted_by_those_of_earlier_messages() {
    let workspace = Workspace::new().await;
    let own = with_opens(&workspace).await;
    let before = report(&workspace, own, "variant-stats").await;
    assert_eq!(*adjusted(&before), Value::Null, "no message was before");
    let people = earlier_opens(&workspace).await;
    let found = report(&workspace, own, "variant-stats").await;
    is_adjusted(&found, &people[1], &people[0]);
    let without = |report: &Value| {
        let mut report = report.clone();
        report["variants"][1]["comparison"]["adjusted"].take();
        report
    };
    assert_eq!(without(&found), without(&before), "never instead of the comparison");
    // Some of the people of a part of the time were assigned before it.
    let path = format!("variant-stats?startDate={}", iso(hour(-24)));
    assert_eq!(*adjusted(&report(&workspace, own, &path).await), Value::Null);
}

#[tokio::test]
async fn messages_after_the_assignment_or_of_long_before_adjust_nothing() {
    let workspace = Workspace::new().await;
    let own = with_opens(&workspace).await;
    let mut people = earlier_opens(&workspace).await;
    let border = hour(-1) - 90 * 24 * H;
    let mut more = Vec::new();
    for at in [hour(-1), hour(0), border - 1] {
        let id = campaign(&workspace, json!({})).await;
        for number in (0..170).filter(|number| number % 2 == 0) {
            more.push(message_event(id, &user(number), K::Sent, at));
            more.push(message_event(id, &user(number), K::Opened, at + 1));
        }
    }
    let sms = json!([
        {"id": "a", "name": "A", "weight": 100, "message": {"body": "Hi", "from": "+49151"}}
    ]);
    let id = campaign(&workspace, json!({"channel": "sms", "variants": sms})).await;
    more.push(message_event(id, &user(4), K::Sent, hour(-20)));
    publish(&workspace, &more).await;
    is_adjusted(&report(&workspace, own, "variant-stats").await, &people[1], &people[0]);
    let id = campaign(&workspace, json!({})).await;
    publish(&workspace, &[message_event(id, &user(4), K::Sent, border)]).await;
    people[0][4].before = Some(0.0);
    is_adjusted(&report(&workspace, own, "variant-stats").await, &people[1], &people[0]);
}

#[tokio::test]
async fn repeated_messages_are_adjusted_by_person() {
    let workspace = Workspace::new().await;
    let own = campaign(&workspace, json!({"variants": two_variants()})).await;
    let earlier = campaign(&workspace, json!({})).await;
    let mut all = Vec::new();
    for number in 0..120_usize {
        let variant = if number < 60 { "a" } else { "b" };
        for occurrence in 1..=u32::try_from(2 + number % 3).unwrap() {
            let of =
                |kind, at| message_event(own, &user(number), kind, at).of(variant).nth(occurrence);
            all.push(of(K::Sent, hour(0)));
            if opens(number, occurrence as usize) {
                all.push(of(K::Opened, hour(1)));
            }
        }
        all.push(message_event(earlier, &user(number), K::Sent, hour(-9)));
        if opens(number, 7) {
            all.push(message_event(earlier, &user(number), K::Opened, hour(-8)));
        }
    }
    publish(&workspace, &all).await;
    let found = report(&workspace, own, "variant-stats").await;
    assert_eq!(found["unit"], "person");
    let reduction = adjusted(&found)["varianceReduction"].as_f64().unwrap();
    assert!((0.05..0.9).contains(&reduction), "{found}");
    assert!(adjusted(&found)["pValue"].as_f64().unwrap() > 1e-6, "{found}");
}

#[tokio::test]
async fn conversions_are_adjusted_by_those_before() {
    let workspace = Workspace::new().await;
    let fields = json!({"variants": two_variants(), "conversionTracking": bought()});
    let own = campaign(&workspace, fields).await;
    let (external, internal) = person(&workspace).await;
    // The first person is known by an external id.
    let id_of = |number: usize| if number == 0 { internal.clone() } else { user(number) };
    let named = |number: usize| if number == 0 { external.clone() } else { user(number) };
    let buys = |number: usize| number.is_multiple_of(3) || number % 7 == 2;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    let mut people = [Vec::new(), Vec::new()];
    for number in 0..120_usize {
        let (side, variant) = if number < 50 { (0, "a") } else { (1, "b") };
        all.push(message_event(own, &id_of(number), K::Sent, hour(0)).of(variant));
        let bought_before = number.is_multiple_of(3);
        let at = |at| event(&named(number), "Bought", at, &json!({}));
        if bought_before {
            // Twice: a person converts once.
            events.push(at(hour(-1)));
            events.push(at(hour(0) - 90 * 24 * H));
        } else if number % 5 == 0 {
            events.push(at(hour(0) - 90 * 24 * H - 1));
        }
        if buys(number) {
            events.push(at(hour(1)));
        }
        let real = |is: bool| f64::from(u8::from(is));
        people[side].push(Person { before: Some(real(bought_before)), after: real(buys(number)) });
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, events.len()).await;
    let found = report(&workspace, own, "variant-stats").await;
    is_adjusted(&found, &people[1], &people[0]);
    assert!(adjusted(&found)["varianceReduction"].as_f64().unwrap() > 0.3, "{found}");
}

#[tokio::test]
async fn revenue_is_adjusted_by_that_before() {
    let workspace = in_euros().await;
    let tracking = json!({"primaryConversion": {"eventName": "Order Completed"}});
    let test = json!({"enabled": true, "winnerMetric": "revenue_per_recipient"});
    let fields = json!({
        "variants": two_variants(), "conversionTracking": tracking, "abTestConfig": test,
    });
    let own = campaign(&workspace, fields).await;
    let (mut all, mut events) = (Vec::new(), Vec::new());
    let mut people = [Vec::new(), Vec::new()];
    for number in 0..240_usize {
        let (side, variant) = if number < 120 { (0, "a") } else { (1, "b") };
        all.push(message_event(own, &user(number), K::Sent, hour(0)).of(variant));
        let habit = if number.is_multiple_of(4) { 20.0 + (number % 50) as f64 } else { 0.0 };
        let mut order = |name: &str, at, total: f64, currency: &str| {
            let id = format!("{name}{number}");
            let order = json!({"orderId": id, "total": total, "currency": currency});
            events.push(event(&user(number), "Order Completed", at, &order));
        };
        if habit > 0.0 {
            order("before", hour(-30), habit, "EUR");
            order("other", hour(-30), 500.0, "USD");
            order("after", hour(1), habit + (number % 3) as f64, "EUR");
        }
        let after = if habit > 0.0 { habit + (number % 3) as f64 } else { 0.0 };
        people[side].push(Person { before: Some(habit), after });
    }
    publish(&workspace, &all).await;
    track(&workspace, &events, events.len()).await;
    let found = report(&workspace, own, "variant-stats").await;
    let (mean, other, _, reduction) = expected(&people[1], &people[0]);
    let adjusted = adjusted(&found);
    assert!(reduction > 0.9 && near(&adjusted["varianceReduction"], reduction), "{adjusted}");
    assert!(near(&adjusted["lift"], mean / other - 1.0), "{adjusted}");
    assert!((0.0..=1.0).contains(&adjusted["pValue"].as_f64().unwrap()), "{adjusted}");
}

/// Writes so many messages of a campaign, each to another person.
async fn write(workspace: &Workspace, campaign: Uuid, at_ms: i64, messages: u64) {
    let id = workspace.id.uuid();
    server()
        .with(move |app| async move {
            let query = app.analytics().client().query(MESSAGES).bind(id).bind(campaign);
            query.bind(at_ms).bind(at_ms).bind(at_ms).bind(messages).execute().await.unwrap();
        })
        .await;
}

const MESSAGES: &str = "
    INSERT INTO message_outcomes (
        workspace_id, campaign_id, user_id, message_id, occurrence, variant, happened, first_at, queued_at, control_at,
        sent_at, delivered_at, opened_at, clicked_at, last_at
    )
    WITH toInt64(9223372036854775807) AS never
    SELECT
        ?, ?, toFixedString(unhex(leftPad(hex(toUInt64(1879048192 + number)), 24, '0')), 12),
        generateUUIDv4(number), 1, cityHash64(if(number % 2 = 0, 'a', 'b')), 4, ?, never, never, ?, never, never, never, ?
    FROM numbers(?)";

/// Writes so many conversions, each of another person.
async fn write_conversions(workspace: &Workspace, at_ms: i64, first: u64, events: u64) {
    let id = workspace.id.uuid();
    server()
        .with(move |app| async move {
            let query = app.analytics().client().query(EVENTS).bind(id).bind(at_ms).bind(at_ms);
            query.bind(first).bind(events).execute().await.unwrap();
        })
        .await;
}

const EVENTS: &str = "
    INSERT INTO events (workspace_id, event_name, day, timestamp, seq, user_id, event_id, is_unique)
    SELECT
        ?, 'Bought', toDate(fromUnixTimestamp64Milli(toInt64(?), 'UTC')), fromUnixTimestamp64Milli(toInt64(?), 'UTC'),
        number, leftPad(lower(hex(toUInt64(1879048192 + number))), 24, '0'), toString(number), 1
    FROM numbers(?, ?)";

/// Eighty messages, of which twenty are opened.
async fn eighty(workspace: &Workspace, fields: Value) -> Uuid {
    let own = campaign(workspace, fields).await;
    let mut all = Vec::new();
    for number in 0..80 {
        let variant = if number < 40 { "a" } else { "b" };
        all.push(message_event(own, &user(number), K::Sent, hour(0)).of(variant));
        if number % 4 == 0 {
            all.push(message_event(own, &user(number), K::Opened, hour(1)).of(variant));
        }
    }
    publish(workspace, &all).await;
    own
}

#[tokio::test]
async fn a_history_of_too_many_messages_is_not_read() {
    let workspace = Workspace::new().await;
    let own = eighty(&workspace, json!({"variants": two_variants()})).await;
    let small = campaign(&workspace, json!({})).await;
    publish(&workspace, &[message_event(small, &user(3), K::Opened, hour(-5))]).await;
    let large = campaign(&workspace, json!({})).await;
    write(&workspace, large, hour(-30), 150_000).await;
    let found = report(&workspace, own, "variant-stats").await;
    assert_eq!(codes(&found["warnings"]), [""; 0]);
    assert!(adjusted(&found)["varianceReduction"].is_number(), "{found}");
    // More than is read of the campaign alone.
    write(&workspace, own, hour(0), 200_000).await;
    let found = report(&workspace, own, "variant-stats").await;
    assert_eq!(codes(&found["warnings"]), ["history_too_large"]);
    assert_eq!(*adjusted(&found), Value::Null);
}

#[tokio::test]
async fn a_history_of_too_many_conversions_is_not_read() {
    let workspace = Workspace::new().await;
    let fields = json!({"variants": two_variants(), "conversionTracking": bought()});
    let own = eighty(&workspace, fields).await;
    let now = event(&user(1), "Bought", hour(1), &json!({}));
    track(&workspace, &[now, event(&user(50), "Bought", hour(1), &json!({}))], 2).await;
    // Of half of the people of a, and of many others.
    write_conversions(&workspace, hour(-1), 20, 20).await;
    write_conversions(&workspace, hour(-1), 1_000, 19_980).await;
    let found = report(&workspace, own, "variant-stats").await;
    assert_eq!(codes(&found["warnings"]), [""; 0]);
    assert!(adjusted(&found)["varianceReduction"].is_number(), "{found}");
    write_conversions(&workspace, hour(-1), 60_000, 1).await;
    let found = report(&workspace, own, "variant-stats").await;
    assert_eq!(codes(&found["warnings"]), ["history_too_large"]);
    assert_eq!(*adjusted(&found), Value::Null);
}
