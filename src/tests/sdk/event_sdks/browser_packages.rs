//! The official packages for browsers, used as in the README, on pages of another origin in a real Chromium. Where it or
//! the packages cannot be had, the tests are skipped.

use std::path::PathBuf;

use tokio::{process::Command, sync::OnceCell};

use super::{
    examples::{example, with_key},
    segment::{identities, properties},
    *,
};
use crate::kit::{Browser, Page, RUN_MAX, npm, run_with_input};

/// Packages of browsers, and the bundler for their pages.
const PACKAGES: [&str; 4] = [
    "@segment/analytics-next@1.84.3",
    "@rudderstack/analytics-js@3.34.1",
    "posthog-js@1.449.2",
    "esbuild@0.28.2",
];
/// The page that runs the README's example.
const SHOP: &str = "/shop";

/// A visitor is not known yet. What is sent waits until the page is left.
const SEGMENT_VISIT: &str = r#"
import { AnalyticsBrowser } from "@segment/analytics-next";
const deliveryStrategy = { strategy: "batching", config: { size: 10, timeout: 600000 } };
const analytics = AnalyticsBrowser.load(
  { writeKey: "WRITE_KEY", cdnURL: "http://127.0.0.1:8080" },
  { integrations: { "Segment.io": { deliveryStrategy } } });
const { event } = await analytics.track("Shop Entered", { source: "ad" });
await report("call", event);
location.assign("/shop");
"#;
/// Reports the calls of the README's example.
const SEGMENT_CALLS: &str = r#"
analytics.addSourceMiddleware(({ payload, next }) => { report("call", payload.obj); next(payload); });
"#;
/// A visitor is not known yet.
const RUDDERSTACK_VISIT: &str = r#"
import { RudderAnalytics } from "@rudderstack/analytics-js/bundled";
const rudder = new RudderAnalytics();
rudder.load("WRITE_KEY", "http://127.0.0.1:8080", { configUrl: "http://127.0.0.1:8080" });
rudder.ready(() => report("anonymous", rudder.getAnonymousId()));
rudder.track("Shop Entered", { source: "ad" }, () => setTimeout(() => location.assign("/shop"), 0));
"#;
/// A visitor is not known yet, and leaves the page at once.
const POSTHOG_VISIT: &str = r#"
import posthog from "posthog-js";
posthog.init("WRITE_KEY", { api_host: "http://127.0.0.1:8080" });
report("anonymous", posthog.get_distinct_id());
posthog.on("eventCaptured", (it) => {
  report("call", it);
  if (it.event === "$pageview") location.assign("/shop");
});
posthog.capture("Shop Entered", { source: "ad" });
"#;
/// What follows the README's example; the source is known by then.
const POSTHOG_CALLS: &str = r#"
posthog.on("eventCaptured", (it) => report("call", it));
posthog.setPersonProperties({ last: 1 }, { source: "search", second: 2 });
"#;

/// A module with the packages that it imports.
async fn bundled(code: &str) -> Result<String, String> {
    static INSTALLED: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    let folder = INSTALLED.get_or_init(|| npm("sdk-browser", &PACKAGES)).await.clone()?;
    let mut esbuild = Command::new(folder.join("node_modules/.bin/esbuild"));
    let arguments = ["--bundle", "--format=esm", "--log-level=error"];
    let bundled = run_with_input(esbuild.args(arguments).current_dir(folder), code, RUN_MAX).await;
    Ok(bundled.unwrap_or_else(|errors| panic!("{errors}")))
}

/// A browser in which a visitor comes to a page, and then to the shop, whose page runs the README's example.
async fn visit(package: &str, visit: &str, calls: &str, key: &str) -> Option<Browser> {
    let open = async || {
        let script = bundled(&with_key(visit, key)).await?;
        let visit = Page { path: "/visit", script };
        let script = bundled(&format!("{}{calls}", example(package, key))).await?;
        Browser::open(vec![visit, Page { path: SHOP, script }]).await
    };
    let opened = open().await;
    opened.inspect_err(|reason| eprintln!("SKIPPED {package}: {reason}")).ok()
}

/// The events of ann, once so many are there, and no more when a later one is.
async fn events_of_ann(workspace: &Workspace, count: usize) -> Vec<Value> {
    events(workspace, "ann", count).await;
    let last = json!({"userId": "ann", "eventName": "Last"});
    workspace.api.post("/events/track", &last, 200).await;
    let mut events = events(workspace, "ann", count + 1).await;
    events.retain(|it| it["event_name"] != "Last");
    events
}

/// Awaits the report on a call of this name.
async fn call(browser: &Browser, field: &str, name: &str) -> Value {
    eventually("the page reports the call", || async {
        browser.reports("call").into_iter().find(|it| it[field] == name)
    })
    .await
}

#[tokio::test]
async fn segments_browser_package_works_with_a_change_of_host() {
    let workspace = Workspace::new().await;
    let key = Sender::app(&workspace).await.key;
    let package = "@segment/analytics-next";
    let Some(browser) = visit(package, SEGMENT_VISIT, SEGMENT_CALLS, &key).await else { return };

    let is_there = |it: &Value| it["attributes"]["groupId"] == "acme" && it["email"].is_string();
    let ann = profile(&workspace, "ann", is_there).await;
    assert_eq!(ann["email"], "ann@example.test");
    let expected = json!({"plan": "pro", "groupId": "acme", "group": {"employees": 5}});
    assert_eq!(ann["attributes"], expected);
    let entered = call(&browser, "event", "Shop Entered").await;
    assert_eq!(entered["userId"], Value::Null);
    let anonymous_id = entered["anonymousId"].as_str().unwrap();
    let ids = identities(&workspace, "ann", 3).await;
    assert_eq!(ids[2], ("anonymous".to_owned(), anonymous_id.to_owned()));

    let events = events_of_ann(&workspace, 3).await;
    for (name, field, sent) in [
        ("Shop Entered", "event", "Shop Entered"),
        ("Page Viewed", "type", "page"),
        ("Order Completed", "event", "Order Completed"),
    ] {
        let event = events.iter().find(|it| it["event_name"] == name).expect(name);
        let id = call(&browser, field, sent).await["messageId"].as_str().unwrap().to_owned();
        assert_eq!(event["event_id"], format!("sdk:{id}"), "{name}");
        assert_eq!(event["anonymous_id"], anonymous_id, "{name}");
        let read = properties(event);
        assert_eq!(read["context"]["library"]["name"], "analytics.js", "{name}: {read}");
        let expected = match name {
            "Shop Entered" => json!({"source": "ad"}),
            "Page Viewed" => json!({"name": "Shop", "path": SHOP}),
            _ => json!({"orderId": "1001", "total": 49.9, "currency": "EUR"}),
        };
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&read[field], value, "{name}: {read}");
        }
    }

    let requests = eventually("each request is answered", || async {
        let requests = browser.requests(SHOP, &server().url);
        (requests.len() == 5).then_some(requests)
    })
    .await;
    assert_eq!(requests[0], format!("200 /v1/projects/{key}/settings"));
    let mut calls = requests[1..].to_vec();
    calls.sort();
    assert_eq!(calls, ["200 /v1/g", "200 /v1/i", "200 /v1/p", "200 /v1/t"]);
    assert_eq!(browser.reports("error"), [Value::Null; 0]);
}

#[tokio::test]
async fn rudderstacks_browser_package_works_with_a_change_of_host() {
    let workspace = Workspace::new().await;
    let key = Sender::app(&workspace).await.key;
    let package = "@rudderstack/analytics-js";
    let Some(browser) = visit(package, RUDDERSTACK_VISIT, "", &key).await else { return };

    let ann = profile(&workspace, "ann", |it| it["email"].is_string()).await;
    assert_eq!(ann["email"], "ann@example.test");
    assert_eq!(ann["attributes"], json!({"plan": "pro"}));
    let anonymous_id = browser.report("anonymous").await;
    let ids = identities(&workspace, "ann", 3).await;
    assert_eq!(ids[2], ("anonymous".to_owned(), anonymous_id.as_str().unwrap().to_owned()));
    let events = events_of_ann(&workspace, 3).await;
    for (name, field, value) in [
        ("Shop Entered", "source", json!("ad")),
        ("Page Viewed", "name", json!("Shop")),
        ("Order Completed", "orderId", json!("1001")),
    ] {
        let event = events.iter().find(|it| it["event_name"] == name).expect(name);
        let read = properties(event);
        assert_eq!(read[field], value, "{name}: {read}");
        assert_eq!(event["anonymous_id"], anonymous_id, "{name}");
        assert_eq!(read["context"]["library"]["name"], "RudderLabs JavaScript SDK", "{name}");
    }
    let requests = browser.requests(SHOP, &server().url);
    assert!(requests[0].starts_with("200 /sourceConfig/"), "{requests:?}");
    assert!(requests.iter().all(|it| it.starts_with("200 ")), "{requests:?}");
    assert_eq!(browser.reports("error"), [Value::Null; 0]);
}

#[tokio::test]
async fn posthogs_browser_package_works_with_a_change_of_host() {
    let workspace = Workspace::new().await;
    let key = Sender::app(&workspace).await.key;
    let Some(browser) = visit("posthog-js", POSTHOG_VISIT, POSTHOG_CALLS, &key).await else {
        return;
    };

    // It is set after `last`, which comes with it.
    let ann = profile(&workspace, "ann", |it| it["attributes"]["second"] == 2).await;
    assert_eq!(ann["email"], "ann@example.test");
    for (name, value) in [("plan", json!("pro")), ("source", json!("ad")), ("last", json!(1))] {
        assert_eq!(ann["attributes"][name], value, "{name}");
    }
    let anonymous_id = browser.report("anonymous").await;
    let ids = identities(&workspace, "ann", 3).await;
    assert_eq!(ids[2], ("anonymous".to_owned(), anonymous_id.as_str().unwrap().to_owned()));

    let events = events_of_ann(&workspace, 5).await;
    let of_visitor = |it: &Value| it["user_id"] == "" && it["anonymous_id"] == anonymous_id;
    let named = |name: &str, is_known: bool| {
        let of = |it: &&Value| it["event_name"] == name && of_visitor(it) != is_known;
        events.iter().find(of).unwrap_or_else(|| panic!("{name}: {events:?}"))
    };
    for (name, sent, path) in [
        ("Shop Entered", "Shop Entered", "/visit"),
        ("Page Viewed", "$pageview", "/visit"),
        ("_pageleave", "$pageleave", "/visit"),
        ("Page Viewed", "$pageview", SHOP),
        ("Signed Up", "Signed Up", SHOP),
    ] {
        let event = named(name, path == SHOP);
        let read = properties(event);
        assert_eq!(read["_pathname"], path, "{name}: {read}");
        assert_eq!(read["_lib"], "web", "{name}: {read}");
        // The example's own event is captured before the page can listen.
        if name != "Signed Up" {
            let is_sent = |it: &Value| {
                it["event"] == sent
                    && event["event_id"] == format!("sdk:{}", it["uuid"].as_str().unwrap())
            };
            eventually("the page reports the event", || async {
                browser.reports("call").iter().any(is_sent).then_some(())
            })
            .await;
        }
    }
    assert_eq!(properties(named("Signed Up", true))["method"], "email");
    eventually("the configuration is there before the events", || async {
        let requests = browser.requests(SHOP, &server().url);
        let is_first = requests.first() == Some(&format!("200 /array/{key}/config.js"));
        (is_first && requests.contains(&"200 /e/".to_owned())).then_some(())
    })
    .await;
    assert_eq!(browser.reports("error"), [Value::Null; 0]);
    assert_eq!(properties(named("Shop Entered", false))["source"], "ad");
}

/// Sends by `fetch` and reports each answer, or that the browser gave none.
const CROSS_ORIGIN: &str = r#"
const server = "http://127.0.0.1:8080";
const call = { type: "track", event: "Sent", userId: "ann", messageId: "m1" };
const basic = (key) => ({ Authorization: `Basic ${btoa(key + ":")}`, "Content-Type": "application/json", "X-Retry-Count": "1" });
const send = async (path, headers, body) => {
  try {
    const answer = await fetch(server + path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  } catch (error) { return error.name; }
};
report("answers", [
  await send("/v1/batch", basic("WRITE_KEY"), { batch: [call] }),
  await send("/v1/track", basic("WRITE_KEY"), { ...call, messageId: "m2" }),
  await send("/batch/", { "Content-Type": "application/json" },
    { api_key: "WRITE_KEY", batch: [{ event: "Sent", uuid: "m3", distinct_id: "ann" }] }),
  await send("/v1/batch", basic("unknown"), { batch: [call] }),
  await send("/v1/batch", { ...basic("WRITE_KEY"), "X-Other": "1" }, { batch: [{ ...call, messageId: "m4" }] }),
  await send("/events/track", { Authorization: "Bearer API_KEY" }, { userId: "ann", eventName: "Sent" }),
]);
"#;

#[tokio::test]
async fn pages_send_with_authorization_and_reach_no_other_routes() {
    let workspace = Workspace::new().await;
    let key = Sender::app(&workspace).await.key;
    let api_key = Sender::of(&workspace, "events:write").await.key;
    let script = with_key(CROSS_ORIGIN, &key).replace("API_KEY", &api_key);
    let browser = match Browser::open(vec![Page { path: SHOP, script }]).await {
        Ok(browser) => browser,
        Err(reason) => {
            eprintln!("SKIPPED pages of another origin: {reason}");
            return;
        }
    };
    let answers = browser.report("answers").await;
    let taken = |body: Value| json!({"status": 200, "body": body});
    assert_eq!(answers[0], taken(json!({"success": true})));
    assert_eq!(answers[1], taken(json!({"success": true})));
    assert_eq!(answers[2], taken(json!({"status": 1})));
    assert_eq!((&answers[3]["status"], &answers[3]["body"]["code"]), (&json!(401), &json!(401)));
    // The preflight does not allow the header, and there is none for other routes.
    assert_eq!((&answers[4], &answers[5]), (&json!("TypeError"), &json!("TypeError")));
    let ids: Vec<_> = events_of_ann(&workspace, 3).await;
    let mut ids: Vec<_> = ids.iter().map(|it| it["event_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["sdk:m1", "sdk:m2", "sdk:m3"]);
}
