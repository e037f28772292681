//! `/console`: the events of the last minute, dead letters, and campaigns whose messages fail.

use ingest::record::MessageKind;
use kernel::Clock;
use serde_json::json;
use uuid::Uuid;

use super::kit::{Person, link};
use crate::{
    kit::{BrowserTab, Workspace, eventually, server},
    stats::fixture::{H, TestMessageEvent, campaign, message_event, publish},
};

#[tokio::test]
async fn events_of_the_last_minute_are_counted_again_and_again() {
    let workspace = Workspace::new().await;
    let other = Workspace::new().await;
    let event = |at_ms: i64| {
        let at = kernel::Timestamp::from_millis(Clock::system().now().millis() + at_ms);
        json!({"userId": "ann", "eventName": "Seen", "timestamp": at.to_string()})
    };
    let events = json!([event(0), event(-30_000), event(-120_000), event(3_600_000)]);
    workspace.api.post("/events/track", &events, 200).await;
    other.api.post("/events/track", &json!([event(0)]), 200).await;
    let person = Person::signed_in(&workspace, "events:read").await;
    let number = |text: &str| -> u64 {
        let before = text.split("Events in the last minute").next().unwrap();
        let value = before.rsplit("figure-value\">").next().unwrap();
        value.split('<').next().unwrap().parse().unwrap()
    };
    // The first of them may be a minute old before it is seen on a busy machine.
    eventually("the events are counted", || async {
        workspace.api.post("/events/track", &json!([event(0), event(-120_000)]), 200).await;
        let (page, part) =
            (person.get("/console").await, person.get("/console/events-per-minute").await);
        assert!(!part.text.contains("<html"), "{}", part.text);
        (number(&page.text) > 1 && number(&part.text) > 1).then_some(())
    })
    .await;
    let reader = Person::signed_in(&workspace, "users:read").await;
    assert!(!reader.get("/console").await.text.contains("last minute"));
}

#[tokio::test]
async fn the_number_of_events_grows_in_a_browser() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED the_number_of_events_grows_in_a_browser: {reason}");
        }
    };
    let workspace = Workspace::new().await;
    tab.go(link(&workspace, "events:read").await.as_str()).await;
    tab.go(&format!("{}/console", server().url)).await;
    tab.until("document.querySelector('#events-per-minute .figure-value')?.textContent === '0'")
        .await;
    // Events leave the minute while a busy machine looks for them.
    eventually("the page counts them", || async {
        let event = json!({"userId": "ann", "eventName": "Seen"});
        workspace.api.post("/events/track", &event, 200).await;
        let shown =
            "document.querySelector('#events-per-minute .figure-value')?.textContent ?? '0'";
        (tab.value(shown).await != json!("0")).then_some(())
    })
    .await;
    assert_eq!(tab.errors(), [""; 0]);
}

/// Messages of a campaign an hour ago: so many failed, so many bounced after they were sent, so many are only sent.
fn messages(campaign: Uuid, [failed, bounced, sent]: [usize; 3]) -> Vec<TestMessageEvent> {
    let at_ms = Clock::system().now().millis() - H;
    let event = |kind, person: usize| message_event(campaign, &format!("u{person}"), kind, at_ms);
    let failures = (0..failed).map(|it| event(MessageKind::Failed, it));
    let sent = (failed..failed + bounced + sent).map(|it| event(MessageKind::Sent, it));
    let bounces = (failed..failed + bounced).map(|it| event(MessageKind::Bounced, it));
    failures.chain(sent).chain(bounces).collect()
}

#[tokio::test]
async fn campaigns_are_named_whose_messages_fail() {
    let workspace = Workspace::new().await;
    let mut all = Vec::new();
    for (name, counts) in [
        ("Ten of 200", [10, 0, 190]),
        ("Ten of 201", [10, 0, 191]),
        ("Nine of nine", [9, 0, 0]),
        ("Some <b>bounced", [4, 8, 0]),
    ] {
        let id = campaign(&workspace, json!({"name": name})).await;
        all.extend(messages(id, counts));
    }
    publish(&workspace, &all).await;
    let person = Person::signed_in(&workspace, "*").await;
    let shown = eventually("the campaigns are named", || async {
        let page = person.get("/console?failing=on").await;
        page.text.contains("Campaigns whose messages fail").then_some(page)
    })
    .await;
    let card = shown.between("Campaigns whose messages fail</h2>", "</section>");
    let lines: Vec<&str> = card.split("<li>").skip(1).collect();
    assert_eq!(lines.len(), 2, "{card}");
    for (line, [name, counts]) in lines
        .iter()
        .zip([["Some &lt;b&gt;bounced", "12 of 12 messages"], ["Ten of 200", "10 of 200 messages"]])
    {
        assert!(line.contains(name) && line.contains(counts) && line.contains("/report"), "{line}");
    }
    // The page itself does not wait for them.
    let page = person.get("/console").await;
    assert!(page.text.contains("/console?failing=on") && !page.text.contains("12 of 12"));
    let reader = Person::signed_in(&workspace, "campaigns:read").await;
    assert!(!reader.get("/console?failing=on").await.text.contains("messages fail"));
}

#[tokio::test]
async fn the_chart_leads_to_its_call_statement_and_file() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "Seen"});
    workspace.api.post("/events/track", &event, 200).await;
    let person = Person::signed_in(&workspace, "events:read").await;
    let page = eventually("the event is in the chart", || async {
        let page = person.get("/console?events=on").await;
        page.text.contains("<strong>1</strong> events in 24 hours").then_some(page)
    })
    .await;
    let figure = page.between("<figure class=\"chart\">", "</figure>");
    for text in ["API call", "/insights/trends", "SQL", "FROM events", "CSV"] {
        assert!(figure.contains(text), "no {text}: {figure}");
    }
    let file = page.between("<div class=\"sources\">", "</figcaption>");
    let file = file.rsplit("href=\"").next().unwrap().split('"').next().unwrap();
    let csv = person.get(&file.replace("&amp;", "&")).await;
    assert_eq!(csv.status, 200, "{}", csv.text);
    let rows = csv::Reader::from_reader(csv.text.as_bytes())
        .deserialize::<std::collections::BTreeMap<String, String>>()
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    let sum: f64 = rows.iter().filter_map(|row| row["value"].parse::<f64>().ok()).sum();
    assert!((sum - 1.0).abs() < f64::EPSILON, "{}", csv.text);
    let chart = page.chart();
    assert_eq!(chart["times"].as_array().unwrap().len(), rows.len());
    let link = page.between("events in 24 hours, <a href=\"", "\"").replace("&amp;", "&");
    assert_eq!(person.get(&link).await.status, 200, "{link}");
}

#[tokio::test]
async fn the_first_steps_end_with_the_first_event() {
    const NONE: &str = "No event has arrived yet";
    const AWAITED: &str = "/console/events-per-minute?first=awaited";
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let page = person.get("/console").await;
    assert!(page.text.contains(NONE) && page.text.contains(AWAITED), "{}", page.text);
    let part = person.get(AWAITED).await;
    assert!(part.text.contains(AWAITED) && !part.text.contains("hx-swap-oob"), "{}", part.text);
    // One of long ago is in no minute, and has arrived all the same.
    let at = kernel::Timestamp::from_millis(Clock::system().now().millis() - 48 * H);
    let event = json!({"userId": "ann", "eventName": "Seen", "timestamp": at.to_string()});
    workspace.api.post("/events/track", &event, 200).await;
    let part = eventually("the event has arrived", || async {
        let part = person.get(AWAITED).await;
        part.text.contains("The first event has arrived").then_some(part)
    })
    .await;
    for text in ["id=\"home-first-steps\" hx-swap-oob=\"true\"", "href=\"/console/live\""] {
        assert!(part.text.contains(text), "no {text}: {}", part.text);
    }
    assert!(!part.text.contains(AWAITED), "asked for no more: {}", part.text);
    let page = person.get("/console").await;
    assert!(!page.text.contains(NONE) && !page.text.contains(AWAITED), "{}", page.text);
    let figure = person.get("/console/events-per-minute").await;
    assert!(!figure.text.contains("hx-swap-oob"), "{}", figure.text);
}

#[tokio::test]
async fn the_first_steps_give_way_in_a_browser() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED the_first_steps_give_way_in_a_browser: {reason}");
        }
    };
    let workspace = Workspace::new().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}/console", server().url)).await;
    tab.until("document.getElementById('home-first-steps')?.textContent.includes('No event')")
        .await;
    let event = json!({"userId": "ann", "eventName": "Seen"});
    workspace.api.post("/events/track", &event, 200).await;
    tab.until("document.getElementById('home-first-steps').textContent.includes('has arrived')")
        .await;
    tab.until("!!document.querySelector('#home-events .card')").await;
    tab.until("!document.body.innerText.includes('No event has arrived yet')").await;
    assert_eq!(tab.errors(), [""; 0]);
}
