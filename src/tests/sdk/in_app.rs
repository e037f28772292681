//! `/v1/in-app`: what an app may show a person, and what it reports back.

use kernel::{Clock, Timestamp};
use serde_json::{Value, json};

use super::{Device, person};
use crate::{
    campaigns::{call, id, made},
    kit::{Workspace, eventually, unique},
};

/// A campaign with these settings of its channel and further fields.
fn body(config: Value, fields: Value) -> Value {
    let mut body = json!({
        "name": unique("in-app"), "channel": "in_app", "channelConfig": config,
        "variants": [{"id": "a", "name": "A", "weight": 100, "customContent": {
            "mode": "native", "title": "Hi {{ user.firstName | default: 'you' }}",
            "buttons": [{"id": "go", "text": "Go", "action": "url", "url": "https://x.test/"}]}}],
    });
    for (field, value) in fields.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

/// Such a campaign that is live.
async fn live(workspace: &Workspace, config: Value, fields: Value) -> Value {
    let campaign = made(&workspace.api, &body(config, fields)).await;
    call(&workspace.api, &campaign, "send", 200).await;
    campaign
}

fn path(user: &str, more: &str) -> String {
    format!("/v1/in-app/messages?userId={user}&platform=web{more}")
}

async fn messages(device: &Device, user: &str, more: &str) -> Vec<Value> {
    let device = if device.token.is_some() { device.clone() } else { device.by(user) };
    let answer = device.get(&path(user, more), 200).await.json();
    answer["messages"].as_array().unwrap().clone()
}

/// The campaigns of the messages once there are so many: what went live is seen within a second.
async fn shown(device: &Device, user: &str, more: &str, count: usize) -> Vec<Value> {
    eventually("the messages are there", || async {
        let messages = messages(device, user, more).await;
        (messages.len() == count).then_some(messages)
    })
    .await
}

fn event(message: &Value, user: &str, kind: &str, event_id: &str) -> Value {
    json!({"type": kind, "messageId": message["messageId"], "userId": user, "platform": "web",
        "eventId": event_id})
}

#[tokio::test]
async fn in_app_messages_are_targeted_rendered_and_ordered_by_priority() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, internal) = person(&workspace, json!({"firstName": "Ann <3", "plan": "pro"})).await;
    let (bob, _) = person(&workspace, json!({"plan": "free"})).await;
    let pro = json!({"targeting": {"filterGroups": [{"filters": [
        {"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"}]}]}});
    let first = live(&workspace, json!({"priority": 9, "type": "banner"}), pro).await;
    let second = live(
        &workspace,
        json!({"triggers": [{"type": "event", "eventName": "Bought", "delaySeconds": 3}]}),
        json!({}),
    )
    .await;
    let found = shown(&device, &ann, "", 2).await;
    assert_eq!(found[0]["campaignId"], id(&first));
    assert_eq!(
        (found[0]["type"].clone(), found[0]["priority"].clone()),
        (json!("banner"), json!(9))
    );
    assert_eq!(found[0]["content"]["title"], "Hi Ann <3");
    assert_eq!(found[0]["triggers"], json!([{"type": "session_start"}]));
    assert_eq!(found[1]["campaignId"], id(&second));
    assert_eq!(
        found[1]["triggers"],
        json!([{"type": "event", "eventName": "Bought", "delaySeconds": 3}])
    );
    assert_eq!(messages(&device.by(&ann), &internal, "").await, found, "either id names a person");
    assert_eq!(messages(&device, &ann, "&trigger=session_start").await, found[..1]);
    assert_eq!(messages(&device, &ann, "&trigger=event&eventName=Bought").await, found[1..]);
    assert!(messages(&device, &ann, "&trigger=event&eventName=Sold").await.is_empty());
    let bobs = shown(&device, &bob, "", 1).await;
    assert_eq!(bobs[0]["content"]["title"], "Hi you");
    assert_ne!(bobs[0]["messageId"], found[1]["messageId"]);
    call(&workspace.api, &second, "pause", 200).await;
    assert_eq!(shown(&device, &ann, "", 1).await, found[..1]);
}

#[tokio::test]
async fn in_app_audiences_can_use_event_filters() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, internal) = person(&workspace, json!({})).await;
    let (bob, _) = person(&workspace, json!({})).await;
    let bought = |operator: &str, value: Value| {
        json!({"targeting": {"filterGroups": [{"filters": [
            {"type": "event", "field": "Bought", "operator": operator, "value": value}]}]}})
    };
    let twice = json!({"count": {"op": "gte", "n": 2}, "properties": {"kind": "tea"}});
    let buyers = live(&workspace, json!({}), bought("performed", twice)).await;
    let others = live(&workspace, json!({}), bought("not_performed", json!({}))).await;
    for (user, kind) in [(&ann, "tea"), (&internal, "tea"), (&bob, "tea"), (&bob, "milk")] {
        let field = if *user == internal { "serviceUserId" } else { "userId" };
        let event = json!({field: user, "eventName": "Bought", "properties": {"kind": kind}});
        device.post("/v1/track", &event, 200).await;
    }
    eventually("ann has bought twice", || async {
        let found = messages(&device, &ann, "").await;
        (found.len() == 1 && found[0]["campaignId"] == id(&buyers)).then_some(())
    })
    .await;
    eventually("bob has bought tea once", || async {
        messages(&device, &bob, "").await.is_empty().then_some(())
    })
    .await;
    let (cid, _) = person(&workspace, json!({})).await;
    assert_eq!(shown(&device, &cid, "", 1).await[0]["campaignId"], id(&others));
}

#[tokio::test]
async fn in_app_display_limits_ignore_repeated_impressions() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({})).await;
    live(&workspace, json!({"displayFrequency": {"maxPerUser": 2}}), json!({})).await;
    let message = shown(&device, &ann, "", 1).await.remove(0);
    for (event_id, displays) in [("i1", 1), ("i1", 1)] {
        let event = event(&message, &ann, "impression", event_id);
        let answer = device.by(&ann).post("/v1/in-app/events", &event, 200).await.json();
        assert_eq!(answer, json!({"eventId": event_id, "success": true}));
        let now = messages(&device, &ann, "").await;
        assert_eq!(now[0]["displayFrequency"]["displays"], displays);
        assert_eq!(now[0]["messageId"], message["messageId"]);
    }
    let both = json!([
        event(&message, &ann, "impression", "i1"),
        event(&message, &ann, "impression", "i2")
    ]);
    device.by(&ann).post("/v1/in-app/events", &both, 200).await;
    assert!(messages(&device, &ann, "").await.is_empty(), "two of two");
}

#[tokio::test]
async fn in_app_messages_respect_interval_schedule_platform_and_app() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({})).await;
    live(&workspace, json!({"startAt": "2099-01-01"}), json!({})).await;
    live(&workspace, json!({"platforms": ["ios"]}), json!({})).await;
    live(&workspace, json!({"webAppIds": ["shop"]}), json!({})).await;
    let hourly =
        live(&workspace, json!({"displayFrequency": {"minHoursBetween": 1}}), json!({})).await;
    let found = shown(&device, &ann, "&appId=shop", 2).await;
    let found = found.iter().find(|it| it["campaignId"] == id(&hourly)).unwrap().clone();
    let just_now = event(&found, &ann, "impression", "i1");
    device.by(&ann).post("/v1/in-app/events", &just_now, 200).await;
    assert_eq!(messages(&device, &ann, "&appId=shop").await.len(), 1);
    assert!(messages(&device, &ann, "&appId=blog").await.is_empty());
    let ios = format!("/v1/in-app/messages?userId={ann}&platform=ios");
    let on_ios = device.by(&ann).get(&ios, 200).await.json();
    assert_eq!(on_ios["messages"].as_array().unwrap().len(), 2, "web apps bind the web alone");
}

#[tokio::test]
async fn the_control_group_sees_no_in_app_message() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({})).await;
    let none = json!({"variants": [
        {"id": "c", "name": "C", "weight": 100, "isControlGroup": true},
        {"id": "a", "name": "A", "weight": 0, "customContent": {"mode": "native", "title": "Hi"}}]});
    let campaign = live(&workspace, json!({}), none).await;
    let seen = live(&workspace, json!({}), json!({})).await;
    let found = shown(&device, &ann, "", 1).await;
    assert_eq!(found[0]["campaignId"], id(&seen));
    let answer = json!({"type": "impression", "campaignId": id(&campaign), "userId": ann, "platform": "web"});
    device.by(&ann).post("/v1/in-app/events", &answer, 404).await;
}

#[tokio::test]
async fn impossible_in_app_events_are_rejected_one_by_one() {
    let (workspace, elsewhere) = (Workspace::new().await, Workspace::new().await);
    let (device, other) = (Device::of(&workspace).await, Device::of(&elsewhere).await);
    let (ann, _) = person(&workspace, json!({})).await;
    let (bob, _) = person(&workspace, json!({})).await;
    live(&workspace, json!({}), json!({})).await;
    let message = shown(&device, &ann, "", 1).await.remove(0);
    let right = event(&message, &ann, "dismiss", "d1");
    let with = |field: &str, value: Value| {
        let mut event = right.clone();
        event[field] = value;
        event
    };
    let absent = "00000000-0000-7000-8000-0000000cdead";
    let events = json!([
        right,
        with("userId", json!(bob)),
        with("userId", json!("unknown-user")),
        with("messageId", json!(absent)),
        with("variantId", json!("b")),
        with("at", json!("2020-01-01")),
        with("type", json!("click")),
        with("campaignId", json!(absent)),
        with("type", json!("wink")),
        with("at", json!("2099-01-01")),
        with("eventId", json!("x".repeat(256))),
    ]);
    let answer = device.by(&ann).post("/v1/in-app/events", &events, 200).await.json();
    let reason = |index: usize, reason: &str| json!({"index": index, "reason": reason});
    assert_eq!(
        answer,
        json!({"processed": 11, "accepted": 2, "rejected": [
            reason(1, "the user token is another person's"),
            reason(2, "the user token is another person's"),
            reason(3, "Message not found"),
            reason(4, "variantId must be the variant that was handed over"),
            reason(5, "at must be at most 30 days ago"),
            reason(6, "buttonId is required for a click"),
            reason(7, "either messageId or campaignId is required"),
            reason(8, "type must be one of: impression, click, dismiss"),
            reason(10, "eventId must be between 1 and 255 characters"),
        ]})
    );
    other.by(&ann).post("/v1/in-app/events", &right, 404).await;
    other.by(&ann).get(&path(&ann, ""), 404).await;
    let hundred = Value::Array(vec![right.clone(); 100]);
    device.by(&ann).post("/v1/in-app/events", &hundred, 200).await;
    let more = Value::Array(vec![right; 101]);
    device.by(&ann).post("/v1/in-app/events", &more, 400).await;
    for (query, errors) in [
        ("", &["userId is required", "platform is required"][..]),
        ("?userId=a&platform=palm", &["platform must be one of: web, ios, android"]),
        (
            "?userId=a&platform=web&trigger=page_view&eventName=A",
            &["eventName is for the trigger event alone"],
        ),
    ] {
        let refused = device.by("a").get(&format!("/v1/in-app/messages{query}"), 400).await;
        assert_eq!(refused.errors(), errors, "{query}");
    }
}

/// A report once it is as expected: events land within a second.
async fn report(
    workspace: &Workspace,
    campaign: &Value,
    name: &str,
    is_there: impl Fn(&Value) -> bool,
) -> Value {
    let path = format!("/campaigns/{}/{name}", id(campaign));
    eventually("the report has the events", || async {
        let report = workspace.api.get(&path, 200).await.json();
        is_there(&report).then_some(report)
    })
    .await
}

/// Whether all events of the next test are in a report: sums, buttons and platforms are queried one by one.
fn is_whole(stats: &Value) -> bool {
    let (button, platform) = (&stats["byButton"][0], &stats["byPlatform"][0]);
    let shown = stats["impressions"] == 12 && platform["impressions"] == 12;
    let clicked = [stats, button, platform].iter().all(|it| it["clicks"] == 2);
    shown && clicked && stats["dismissals"] == 1
}

#[tokio::test]
async fn in_app_reports_count_impressions_and_actions() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, ann_id) = person(&workspace, json!({})).await;
    let (bob, bob_id) = person(&workspace, json!({})).await;
    let campaign = live(&workspace, json!({}), json!({})).await;
    let anns = shown(&device, &ann, "", 1).await.remove(0);
    let bobs = shown(&device, &bob, "", 1).await.remove(0);
    // An hour ago and so many minutes on.
    let began = Clock::system().now().millis() - 3_600_000;
    let at = |minute: i64| Timestamp::from_millis(began + minute * 60_000).to_string();
    let answer = |message: &Value, user: &str, kind: &str, event_id: &str, minute: i64| {
        let mut event = event(message, user, kind, event_id);
        event["at"] = json!(at(minute));
        event["appId"] = json!("shop");
        if kind == "click" {
            event["buttonId"] = json!("go");
        }
        event
    };
    let mut events: Vec<Value> =
        (0..11).map(|n| answer(&anns, &ann, "impression", &format!("i{n}"), n)).collect();
    events.push(answer(&anns, &ann, "click", "c1", 10));
    events.push(answer(&anns, &ann, "click", "c2", 10));
    events.push(answer(&anns, &ann, "dismiss", "d1", 3));
    let bobs = answer(&bobs, &bob, "impression", "i1", 20);
    for _ in 0..2 {
        let answer = device.by(&ann).post("/v1/in-app/events", &json!(events), 200).await.json();
        assert_eq!(answer["accepted"], 14, "{answer}");
        device.by(&bob).post("/v1/in-app/events", &bobs, 200).await;
    }
    let stats = report(&workspace, &campaign, "in-app-stats", is_whole).await;
    assert_eq!(
        stats,
        json!({
            "campaignId": id(&campaign), "impressions": 12, "uniqueUsers": 2, "clicks": 2, "uniqueClicks": 1,
            "dismissals": 1, "clickRate": 0.5,
            "byButton": [{"buttonId": "go", "text": "Go", "clicks": 2}],
            "byPlatform": [{"platform": "web", "impressions": 12, "clicks": 2}],
            "displayFrequency": {"tailBucket": 10, "maxPerUser": 11, "buckets": [
                {"displays": 1, "users": 1, "impressions": 1}, {"displays": 10, "users": 1, "impressions": 11}]},
        })
    );
    let page = report(&workspace, &campaign, "impressions?limit=2", |it| it["total"] == 12).await;
    let shown = page["data"].as_array().unwrap();
    assert_eq!(
        (page["limit"].clone(), page["offset"].clone(), shown.len()),
        (json!(2), json!(0), 2)
    );
    assert_eq!(
        shown[0],
        json!({"id": "i1", "userId": bob_id, "externalId": bob, "variantId": "a", "platform": "web",
            "appId": "shop", "action": null, "buttonId": null, "displayedAt": shown[0]["displayedAt"],
            "dismissedAt": null})
    );
    assert_eq!((&shown[1]["userId"], &shown[1]["id"]), (&json!(ann_id), &json!("i10")));
    assert_eq!((&shown[1]["action"], &shown[1]["buttonId"]), (&json!("click"), &json!("go")));
    let rest = workspace
        .api
        .get(format!("/campaigns/{}/impressions?offset=8&limit=1", id(&campaign)), 200)
        .await
        .json();
    assert_eq!(
        (&rest["data"][0]["id"], &rest["data"][0]["action"]),
        (&json!("i3"), &json!("dismiss"))
    );
    assert_eq!(rest["data"][0]["dismissedAt"], rest["data"][0]["displayedAt"]);
    let general = report(&workspace, &campaign, "stats", |it| it["stats"]["sent"] == 2).await;
    assert_eq!(general["stats"]["failed"], 0, "{general}");
}

#[tokio::test]
async fn in_app_clicks_are_reported_under_the_buttons_target() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, ann_id) = person(&workspace, json!({})).await;
    let (bob, _) = person(&workspace, json!({})).await;
    let content = json!({"variants": [{"id": "a", "name": "A", "weight": 100, "customContent": {
        "mode": "native", "title": "Hi", "buttons": [
            {"id": "go", "text": "Go", "action": "url", "url": "https://x.test/?a=1"},
            {"id": "no", "text": "No", "action": "dismiss"}]}}]});
    let campaign = live(&workspace, json!({}), content).await;
    let anns = shown(&device, &ann, "", 1).await.remove(0);
    let bobs = shown(&device, &bob, "", 1).await.remove(0);
    let click = |message: &Value, user: &str, button: &str, event_id: &str| {
        let mut event = event(message, user, "click", event_id);
        event["buttonId"] = json!(button);
        event
    };
    let clicks = json!([
        click(&anns, &ann, "go", "c1"),
        click(&anns, &ann, "go", "c2"),
        click(&anns, &ann, "no", "c3"),
    ]);
    let bobs = click(&bobs, &bob, "go", "c1");
    // A repeated event counts once.
    for _ in 0..2 {
        let answer = device.by(&ann).post("/v1/in-app/events", &clicks, 200).await.json();
        assert_eq!(answer["accepted"], 3, "{answer}");
        device.by(&bob).post("/v1/in-app/events", &bobs, 200).await;
    }
    // Links, clicks and people are queried one by one.
    let is_whole = |it: &Value| {
        let people = it["uniqueClickers"] == 2;
        people && it["totalClicks"] == 4 && it["links"][0]["totalClicks"] == 3
    };
    let links = report(&workspace, &campaign, "links", is_whole).await;
    assert_eq!(links["links"].as_array().unwrap().len(), 1, "a button without a target is no link");
    let link = &links["links"][0];
    assert_eq!((&link["url"], &link["uniqueClicks"]), (&json!("https://x.test/?a=1"), &json!(2)));
    assert_eq!(link["byVariant"], json!([{"variantId": "a", "totalClicks": 3, "uniqueClicks": 2}]));

    let timeline = report(&workspace, &campaign, &format!("recipients/{ann}"), |_| true).await;
    assert_eq!(timeline["userId"], ann_id);
    let events = timeline["messages"][0]["events"].as_array().unwrap();
    let clicked = events.iter().filter(|event| event["type"] == "clicked");
    let mut metadata: Vec<String> = clicked.map(|event| event["metadata"].to_string()).collect();
    metadata.sort();
    let go = json!({"url": "https://x.test/?a=1", "buttonId": "go"}).to_string();
    assert_eq!(metadata, [go.clone(), go, json!({"buttonId": "no"}).to_string()]);
}

#[tokio::test]
async fn an_in_app_test_is_shown_once_and_not_counted() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({"firstName": "Ann"})).await;
    let (bob, _) = person(&workspace, json!({})).await;
    let campaign = made(&workspace.api, &body(json!({}), json!({}))).await;
    let path = format!("/campaigns/{}/send-test-in-app", id(&campaign));
    let sent = workspace.api.post(&path, &json!({"userId": ann}), 200).await.json();
    let found = messages(&device, &ann, "").await;
    assert_eq!((found.len(), &found[0]["isTest"]), (1, &json!(true)), "{found:?}");
    assert_eq!(found[0]["messageId"], sent["messageId"]);
    assert_eq!(found[0]["content"]["title"], "Hi Ann");
    assert!(messages(&device, &bob, "").await.is_empty());
    let seen = event(&found[0], &bob, "impression", "i1");
    device.by(&ann).post("/v1/in-app/events", &seen, 403).await;
    device.by(&bob).post("/v1/in-app/events", &seen, 404).await;
    let seen = event(&found[0], &ann, "impression", "i1");
    device.by(&ann).post("/v1/in-app/events", &seen, 200).await;
    assert!(messages(&device, &ann, "").await.is_empty());
    // A real display after it has landed, so has the test's.
    let real = live(&workspace, json!({}), json!({})).await;
    let message = shown(&device, &ann, "", 1).await.remove(0);
    let seen = event(&message, &ann, "impression", "i2");
    device.by(&ann).post("/v1/in-app/events", &seen, 200).await;
    report(&workspace, &real, "in-app-stats", |it| it["impressions"] == 1).await;
    let stats = report(&workspace, &campaign, "in-app-stats", |_| true).await;
    assert_eq!(stats["impressions"], 0);
}
