//! Which events enter which profiles.

use serde_json::{Value, json};

use super::{
    DELAY_MINUTES, EVENT, Entered, body, caught_up, entered, launched, people, track, until,
    waiting,
};
use crate::{
    campaigns::{call, id, made, put},
    identity::{link, merge},
    kit::{Workspace, eventually, server},
};

fn short(entered: &[Entered]) -> Vec<(&str, &str, i32)> {
    entered.iter().map(Entered::short).collect()
}

/// How many `queued` events of a campaign ClickHouse has.
async fn queued_count(campaign: &Value) -> u64 {
    let campaign = id(campaign).to_owned();
    server()
        .with(|app| async move {
            app.analytics()
                .client()
                .query("SELECT count() FROM message_events FINAL WHERE type = 'queued' AND campaign_id = toUUID(?)")
                .bind(campaign)
                .fetch_one::<u64>()
                .await
                .unwrap()
        })
        .await
}

#[tokio::test]
async fn a_triggered_message_renders_properties_of_its_event() {
    let workspace = Workspace::new().await;
    people(&workspace.api, &["ann"]).await;
    let campaign = launched(&workspace, json!({}), json!({})).await;
    let before = kernel::Clock::system().now().millis();
    track(&workspace.api, "ann", "e-1", json!({"plan": "pro", "n": 1.50})).await;
    let entered = until(&campaign, "e-1").await;
    let after = kernel::Clock::system().now().millis();
    assert_eq!(short(&entered), [("e-1", "ann", 1)]);
    let Entered { status, context, due_ms, .. } = &entered[0];
    assert_eq!(status, "queued");
    assert_eq!(context["eventId"], "e-1");
    assert_eq!(context["event"]["name"], EVENT);
    assert_eq!(context["event"]["properties"], json!({"plan": "pro", "n": 1.5}));
    let happened: chrono::DateTime<chrono::Utc> =
        context["event"]["timestamp"].as_str().unwrap().parse().unwrap();
    assert!((before..=after).contains(&happened.timestamp_millis()));
    let came_in = due_ms.unwrap() - DELAY_MINUTES * 60_000;
    assert!((before..=after).contains(&came_in), "the delay counts from the event");
    eventually("the event is recorded", || async {
        (queued_count(&campaign).await == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_event_triggers_only_when_all_conditions_match() {
    let workspace = Workspace::new().await;
    people(&workspace.api, &["ann"]).await;
    let conditions = json!([
        {"field": "plan", "operator": "equals", "value": "pro"},
        {"field": "order.total", "operator": "gte", "value": 50},
        {"field": "coupon", "operator": "not_exists"},
    ]);
    let trigger = json!({"conditions": conditions, "reEntry": "always"});
    let campaign = launched(&workspace, trigger, json!({})).await;
    for (event, properties) in [
        ("cheap", json!({"plan": "pro", "order": {"total": 49.99}})),
        ("exact", json!({"plan": "pro", "order": {"total": 50}})),
        ("free", json!({"plan": "free", "order": {"total": 60}})),
        ("coupon", json!({"plan": "pro", "order": {"total": 60}, "coupon": "x"})),
        ("nothing", json!({})),
        ("more", json!({"plan": "pro", "order.total": 51})),
        ("last", json!({"plan": "pro", "order": {"total": 1e9}})),
    ] {
        track(&workspace.api, "ann", event, properties).await;
    }
    let entered = until(&campaign, "last").await;
    assert_eq!(short(&entered), [("exact", "ann", 1), ("more", "ann", 2), ("last", "ann", 3)]);
}

#[tokio::test]
async fn the_re_entry_rule_decides_who_enters_again() {
    let workspace = Workspace::new().await;
    people(&workspace.api, &["ann", "bob", "marker"]).await;
    let once = launched(&workspace, json!({}), json!({})).await;
    let always = launched(&workspace, json!({"reEntry": true}), json!({})).await;
    let cooldown = json!({"reEntry": "cooldown", "cooldownHours": 24});
    let cooldown = launched(&workspace, cooldown, json!({})).await;
    for event in ["a-1", "a-2"] {
        track(&workspace.api, "ann", event, json!({})).await;
    }
    track(&workspace.api, "bob", "b-1", json!({})).await;
    until(&always, "b-1").await;
    caught_up().await;
    let (first, both) = (
        [("a-1", "ann", 1), ("b-1", "bob", 1)],
        [("a-1", "ann", 1), ("a-2", "ann", 2), ("b-1", "bob", 1)],
    );
    assert_eq!(short(&entered(&once).await), first);
    assert_eq!(short(&entered(&always).await), both);
    assert_eq!(short(&entered(&cooldown).await), first);

    // A day and a second later for ann, ten minutes short of a day for bob: the test itself takes time.
    for (user, seconds) in [("ann", 86_401_i64), ("bob", 85_800)] {
        let (db, campaign) = (server().db(), id(&cooldown).parse::<uuid::Uuid>().unwrap());
        server()
            .on(async move {
                sqlx::query(
                    "update campaign_entry set entered_at = entered_at - $3::interval
                     where campaign_id = $1
                         and user_id = (select id from users where users.external_id = $2
                             and users.workspace_id = campaign_entry.workspace_id)",
                )
                .bind(campaign)
                .bind(user)
                .bind(sqlx::postgres::types::PgInterval {
                    months: 0,
                    days: 0,
                    microseconds: seconds * 1_000_000,
                })
                .execute(&db)
                .await
                .unwrap()
            })
            .await;
    }
    for (user, event) in [("ann", "a-3"), ("bob", "b-2"), ("marker", "m")] {
        track(&workspace.api, user, event, json!({})).await;
    }
    let again = until(&cooldown, "m").await;
    let again: Vec<_> = again.iter().filter(|entry| entry.occurrence > 1).cloned().collect();
    assert_eq!(short(&again), [("a-3", "ann", 2)]);
}

#[tokio::test]
async fn a_repeated_event_triggers_a_campaign_once() {
    let workspace = Workspace::new().await;
    people(&workspace.api, &["ann", "marker"]).await;
    let campaign = launched(&workspace, json!({"reEntry": "always"}), json!({})).await;
    let event = |id: &str| json!({"userId": "ann", "eventName": EVENT, "clientEventId": id});
    let many = json!([event("one"), event("one"), event("two"), event("one")]);
    let sends = (0..8).map(|_| workspace.api.post("/events/track", &many, 200));
    futures_util::future::join_all(sends).await;
    track(&workspace.api, "ann", "one", json!({"another": "body"})).await;
    track(&workspace.api, "marker", "m", json!({})).await;
    let entered = until(&campaign, "m").await;
    let mut events: Vec<_> = entered.iter().map(|entry| entry.event.as_str()).collect();
    events.sort_unstable();
    assert_eq!(events, ["m", "one", "two"]);
    eventually("each event is recorded once", || async {
        (queued_count(&campaign).await == 3).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_event_triggers_every_campaign_that_waits_for_it() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    people(&workspace.api, &["ann"]).await;
    people(&other.api, &["ann"]).await;
    let first = launched(&workspace, json!({}), json!({})).await;
    let second = launched(&workspace, json!({}), json!({})).await;
    let elsewhere = launched(&other, json!({}), json!({})).await;
    let otherwise = launched(&workspace, json!({"eventName": "Signed In"}), json!({})).await;
    let draft = waiting(&workspace, json!({}), json!({})).await;
    track(&workspace.api, "ann", "e", json!({})).await;
    until(&first, "e").await;
    until(&second, "e").await;
    caught_up().await;
    for nothing in [elsewhere, otherwise, draft] {
        assert_eq!(entered(&nothing).await, []);
    }
}

#[tokio::test]
async fn only_events_received_while_a_campaign_is_active_trigger_it() {
    let workspace = Workspace::new().await;
    people(&workspace.api, &["ann"]).await;
    let campaign = waiting(&workspace, json!({"reEntry": "always"}), json!({})).await;
    track(&workspace.api, "ann", "before", json!({})).await;
    call(&workspace.api, &campaign, "send", 200).await;
    track(&workspace.api, "ann", "active", json!({})).await;
    until(&campaign, "active").await;
    call(&workspace.api, &campaign, "pause", 200).await;
    track(&workspace.api, "ann", "paused", json!({})).await;
    caught_up().await;
    call(&workspace.api, &campaign, "resume", 200).await;
    let history = json!({
        "userId": "ann", "eventName": EVENT, "clientEventId": "history", "timestamp": "2024-02-03T04:05:06Z",
    });
    workspace.api.post("/events/track", &history, 200).await;
    track(&workspace.api, "ann", "resumed", json!({})).await;
    until(&campaign, "resumed").await;
    call(&workspace.api, &campaign, "cancel", 200).await;
    track(&workspace.api, "ann", "cancelled", json!({})).await;
    caught_up().await;
    let entered = entered(&campaign).await;
    assert_eq!(short(&entered), [("active", "ann", 1), ("resumed", "ann", 2)]);
}

#[tokio::test]
async fn an_event_right_after_the_launch_is_answered_triggers_the_campaign() {
    let workspace = Workspace::new().await;
    people(&workspace.api, &["ann"]).await;
    for round in 0..20 {
        let campaign = launched(&workspace, json!({}), json!({})).await;
        let event = format!("right-after-{round}");
        track(&workspace.api, "ann", &event, json!({})).await;
        until(&campaign, &event).await;
    }
}

#[tokio::test]
async fn published_edits_of_a_trigger_take_effect_and_pending_ones_do_not() {
    let workspace = Workspace::new().await;
    people(&workspace.api, &["ann"]).await;
    let campaign = launched(&workspace, json!({"reEntry": "always"}), json!({})).await;
    let edit =
        json!({"reEntry": "always", "conditions": [{"field": "vip", "operator": "is_true"}]});
    let edit = json!({"triggerConfig": body(edit, json!({}))["triggerConfig"]});
    put(&workspace.api, &campaign, edit, 200).await;
    track(&workspace.api, "ann", "draft", json!({})).await;
    until(&campaign, "draft").await;
    call(&workspace.api, &campaign, "publish", 200).await;
    track(&workspace.api, "ann", "plain", json!({})).await;
    track(&workspace.api, "ann", "vip", json!({"vip": true})).await;
    let entered = until(&campaign, "vip").await;
    assert_eq!(short(&entered), [("draft", "ann", 1), ("vip", "ann", 2)]);
}

#[tokio::test]
async fn an_event_matches_a_profile_by_external_or_internal_id_only() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    people(api, &["ann", "bob", "marker"]).await;
    let ann = api.get("/users/by-user-id/ann", 200).await.json()["id"].clone();
    let campaign = launched(&workspace, json!({"reEntry": "always"}), json!({})).await;
    let event = |id: &str, who: Value| {
        let mut event = json!({"eventName": EVENT, "clientEventId": id});
        for (field, value) in who.as_object().unwrap() {
            event[field] = value.clone();
        }
        event
    };
    let events = json!([
        event("service", json!({"serviceUserId": ann})),
        event("as-user", json!({"userId": ann})),
        event("both", json!({"serviceUserId": ann, "userId": "bob"})),
        event(
            "unknown-service",
            json!({"serviceUserId": "ffffffffffffffffffffffff", "userId": "bob"})
        ),
        event("anonymous", json!({"anonymousId": "ann"})),
        event("alias", json!({"userAlias": {"aliasName": "ann", "aliasLabel": "crm"}})),
        event("stranger", json!({"userId": "stranger"})),
        event("last", json!({"userId": "marker"})),
    ]);
    api.post("/events/track", &events, 200).await;
    until(&campaign, "last").await;
    // Events tracked before a profile existed trigger nothing for it.
    people(api, &["stranger"]).await;
    let inline =
        json!({"externalId": "bob", "events": [{"name": EVENT, "properties": {"inline": true}}]});
    api.post("/users", &inline, 200).await;
    let entered = eventually("the inline event counts", || async {
        let entered = entered(&campaign).await;
        (entered.len() == 6).then_some(entered)
    })
    .await;
    let mut who: Vec<_> =
        entered.iter().map(|entry| (entry.user.as_str(), entry.occurrence)).collect();
    who.sort_unstable();
    assert_eq!(who, [("ann", 1), ("ann", 2), ("ann", 3), ("bob", 1), ("bob", 2), ("marker", 1)]);
    let events: Vec<_> = entered.iter().map(|entry| entry.event.as_str()).collect();
    for unknown in ["anonymous", "alias", "stranger"] {
        assert!(!events.contains(&unknown), "{events:?}");
    }
}

#[tokio::test]
async fn a_deleted_profile_enters_no_campaign() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    people(api, &["ann", "marker"]).await;
    let ann = api.get("/users/by-user-id/ann", 200).await.json()["id"].clone();
    let campaign = launched(&workspace, json!({}), json!({})).await;
    let path = format!("/users/{}", ann.as_str().unwrap());
    let request =
        api.request(reqwest::Method::DELETE, &path).json(&json!({"reason": "asked for it"}));
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{answer:?}");
    let events = json!([
        {"serviceUserId": ann, "eventName": EVENT}, {"userId": "ann", "eventName": EVENT},
        {"userId": "marker", "eventName": EVENT, "clientEventId": "m"},
    ]);
    api.post("/events/track", &events, 200).await;
    assert_eq!(short(&until(&campaign, "m").await), [("m", "marker", 1)]);
}

#[tokio::test]
async fn a_thousand_concurrent_events_enter_a_thousand_profiles_once_each() {
    let workspace = Workspace::new().await;
    let names: Vec<String> = (0..1000).map(|n| format!("user-{n:04}")).collect();
    people(&workspace.api, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let campaign = launched(&workspace, json!({}), json!({})).await;
    let event = |name: &String| json!({"userId": name, "eventName": EVENT, "clientEventId": name});
    for some in names.chunks(500) {
        // Each profile does it twice.
        let events: Vec<Value> = some.iter().map(event).collect();
        let again: Vec<Value> =
            some.iter().map(|name| json!({"userId": name, "eventName": EVENT})).collect();
        workspace.api.post("/events/track", &json!(events), 200).await;
        workspace.api.post("/events/track", &json!(again), 200).await;
    }
    caught_up().await;
    let entered = entered(&campaign).await;
    let mut users: Vec<_> = entered.iter().map(|entry| entry.user.clone()).collect();
    users.sort_unstable();
    assert_eq!(users, names);
    assert!(entered.iter().all(|entry| entry.occurrence == 1));
    eventually("all events are recorded", || async {
        (queued_count(&campaign).await == 1000).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_campaign_no_longer_triggers() {
    let workspace = Workspace::new().await;
    people(&workspace.api, &["ann"]).await;
    let once = launched(&workspace, json!({}), json!({})).await;
    track(&workspace.api, "ann", "e", json!({})).await;
    until(&once, "e").await;
    call(&workspace.api, &once, "cancel", 200).await;
    let later = made(&workspace.api, &body(json!({}), json!({}))).await;
    call(&workspace.api, &later, "send", 200).await;
    track(&workspace.api, "ann", "f", json!({})).await;
    until(&later, "f").await;
    assert_eq!(short(&entered(&once).await), [("e", "ann", 1)]);
}

#[tokio::test]
async fn anonymous_events_trigger_for_linked_people_from_the_link_on() {
    let workspace = Workspace::new().await;
    let (api, always) = (&workspace.api, json!({"reEntry": "always"}));
    people(api, &["ann", "old"]).await;
    let campaign = launched(&workspace, always, json!({})).await;
    let once = launched(&workspace, json!({"reEntry": "once"}), json!({})).await;
    let anonymous = async |anonymous: &str, id: &str| {
        let event = json!({"anonymousId": anonymous, "eventName": EVENT, "clientEventId": id});
        api.post("/events/track", &event, 200).await;
    };
    let ann = api.get("/users/by-user-id/ann", 200).await.json()["id"].as_str().unwrap().to_owned();
    anonymous("a1", "before").await;
    caught_up().await;
    link(&workspace, "a1", &ann).await;
    anonymous("a1", "after").await;
    anonymous("a2", "of no profile").await;
    let first = until(&campaign, "after").await;
    assert_eq!(short(&first), [("after", "ann", 1)]);

    // Ids of a merged profile are the survivor's, and its entries count.
    track(api, "old", "by old", json!({})).await;
    until(&once, "by old").await;
    merge(&workspace, "old", "ann").await;
    track(api, "old", "merged", json!({})).await;
    let all = until(&campaign, "merged").await;
    let merged = all.iter().find(|it| it.event == "merged").unwrap();
    assert_eq!((merged.user.as_str(), merged.occurrence), ("ann", 2));
    caught_up().await;
    let once: Vec<String> = entered(&once).await.into_iter().map(|it| it.event).collect();
    assert_eq!(once, ["after", "by old"], "the person entered before");
}
