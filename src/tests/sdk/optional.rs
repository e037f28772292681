//! `[sdk] identity = "optional"`: what an app may do for a person without their token; answers reveal nothing
//! about profiles.

use std::sync::LazyLock;

use kernel::{Clock, WorkspaceId};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Device, now_s};
use crate::{
    campaigns::{call, made},
    kit::{Client, MailServer, TestServer, data_dir, eventually, run, settings, unique},
};

struct Open {
    server: TestServer,
    mail: MailServer,
}

/// A mail server for as long as the process lives.
fn mail_server() -> MailServer {
    let (send, receive) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            send.send(MailServer::start().await).unwrap();
            std::future::pending::<()>().await;
        });
    });
    receive.recv().unwrap()
}

static OPEN: LazyLock<Open> = LazyLock::new(|| {
    let mail = mail_server();
    let settings = settings(
        &data_dir("sdk-optional"),
        &[
            ("sdk.identity", "optional".to_owned()),
            ("sdk.trusted_events", "Signed Up,Order Completed".to_owned()),
            ("channels.email.provider", "smtp".to_owned()),
            ("channels.email.url", format!("smtp://{}", mail.address)),
            ("channels.email.from", "Shop <hello@example.test>".to_owned()),
        ],
    );
    Open { server: run(settings, Clock::system()), mail }
});

/// A workspace of that server, and an app of it.
struct Shop {
    open: &'static Open,
    id: WorkspaceId,
    api: Client,
    app: Device,
}

impl Shop {
    async fn new() -> Self {
        // Its start blocks.
        let open = tokio::task::spawn_blocking(|| &*OPEN).await.unwrap();
        let name = unique("open");
        let (token, id) = open.server.key(&name, "*").await;
        let app = Device::on(&open.server, id, &name).await;
        Self { open, id, api: Client::new(&open.server.url, Some(&token)), app }
    }

    /// A profile: its external and its internal id.
    async fn person(&self, attributes: Value) -> (String, String) {
        let external = unique("ann");
        let email = format!("{external}@example.test");
        let body = json!({"externalId": external, "email": email, "attributes": attributes});
        let user = self.api.post("/users", &body, 201).await.json();
        (external, user["id"].as_str().unwrap().to_owned())
    }

    async fn status(&self, id: &str, channel: &str) -> Value {
        let contact = self.api.get(format!("/subscriptions/contacts/{id}"), 200).await.json();
        contact["channels"][channel]["status"].clone()
    }

    /// The links of the confirmations that a person got.
    fn confirmations(&self, external: &str) -> Vec<String> {
        let to = format!("{external}@example.test");
        let taken = self.open.mail.taken();
        let mails = taken.iter().filter(|it| it.to.contains(&to));
        mails.filter_map(|it| link(&it.mail)).collect()
    }

    async fn confirmation(&self, external: &str) -> String {
        eventually("the confirmation is in the mail", || async {
            self.confirmations(external).pop()
        })
        .await
    }
}

/// The path of the link to `/c/` in a mail.
fn link(mail: &str) -> Option<String> {
    let plain = mail.replace("=\r\n", "").replace("=\n", "").replace("=3D", "=");
    let (_, rest) = plain.split_once("/c/")?;
    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    Some(format!("/c/{}", rest.split(end).next()?))
}

#[tokio::test]
async fn with_optional_identity_wrong_tokens_are_refused_and_valid_ones_count() {
    let shop = Shop::new().await;
    let (ann, id) = shop.person(json!({})).await;
    let (bob, _) = shop.person(json!({})).await;
    let word = |user: &str| json!({"userId": user, "channel": "push", "status": "optedIn"});
    let path = "/v1/subscriptions/channel";
    let expired = shop.app.signed(&json!({"sub": ann, "exp": now_s() - 60}));
    shop.app.with_token(&expired).post(path, &word(&ann), 401).await;
    shop.app.with_token("").post(path, &word(&ann), 401).await;
    shop.app.by(&ann).post(path, &word(&bob), 403).await;
    let kept = shop.app.by(&ann).post(path, &word(&ann), 200).await.json();
    assert_eq!(kept, json!({"userId": id, "channel": "push", "status": "optedIn"}));
    assert_eq!(shop.status(&id, "push").await, "optedIn");
}

#[tokio::test]
async fn without_a_token_opt_outs_apply_and_opt_ins_need_confirmation() {
    let shop = Shop::new().await;
    let (ann, id) = shop.person(json!({})).await;
    let path = "/v1/subscriptions/channel";
    let word = |status: &str| json!({"userId": ann, "channel": "email", "status": status, "consentText": "Yes."});
    let waits = shop.app.post(path, &word("optedIn"), 200).await;
    assert_eq!(
        (&waits.json()["status"], &waits.json()["userId"]),
        (&json!("pending"), &json!(ann))
    );
    assert!(!waits.text.contains("/c/") && !waits.text.contains(&id), "{}", waits.text);
    assert_eq!(shop.status(&id, "email").await, Value::Null);
    let link = shop.confirmation(&ann).await;
    let page = shop.api.get(&link, 200).await.text;
    assert!(page.contains("Confirm your subscription") && page.contains("emails"), "{page}");
    assert_eq!(shop.status(&id, "email").await, Value::Null, "nothing before the click");
    for _ in 0..2 {
        shop.api.send(shop.api.request(Method::POST, &link), 200).await;
        assert_eq!(shop.status(&id, "email").await, "optedIn");
    }
    let history = shop.api.get(format!("/subscriptions/contacts/{id}/history"), 200).await.text;
    assert!(history.contains("confirmed by the link"), "{history}");
    let out = shop.app.post(path, &word("unsubscribed"), 200).await.json();
    assert_eq!(out, json!({"userId": ann, "channel": "email", "status": "unsubscribed"}));
    assert_eq!(shop.status(&id, "email").await, "unsubscribed");
    shop.api.send(shop.api.request(Method::POST, &link), 404).await;
    assert_eq!(shop.status(&id, "email").await, "unsubscribed", "an old link reverts no opt-out");
}

#[tokio::test]
async fn without_a_token_lists_are_joined_by_confirmation_and_left_at_once() {
    let shop = Shop::new().await;
    let (ann, id) = shop.person(json!({})).await;
    let list = shop.api.post("/lists", &json!({"name": "Open"}), 201).await.json()["id"].clone();
    let group = "/v1/subscriptions/group";
    let word =
        |status: &str| json!({"userId": ann, "listId": list, "channel": "email", "status": status});
    let waits = shop.app.post(group, &word("subscribed"), 200).await.json();
    assert_eq!((&waits["status"], &waits["userId"]), (&json!("pending"), &json!(ann)));
    let lists = async || {
        let path = format!("/subscriptions/contacts/{id}/lists");
        let lists = shop.api.get(path, 200).await.json();
        lists.as_array().unwrap().iter().map(|it| it["status"].clone()).collect::<Vec<_>>()
    };
    assert!(lists().await.is_empty());
    let link = shop.confirmation(&ann).await;
    shop.api.send(shop.api.request(Method::POST, &link), 200).await;
    assert_eq!(lists().await, ["subscribed"]);
    // A subscribed person gets the same answer: it reveals nothing.
    let again = shop.app.post(group, &word("subscribed"), 200).await.json();
    assert_eq!(again["status"], "pending");
    shop.app.post(group, &word("unsubscribed"), 200).await;
    assert_eq!(lists().await, ["unsubscribed"]);
}

#[tokio::test]
async fn an_address_gets_three_confirmations_a_day_and_a_suppressed_one_none() {
    let shop = Shop::new().await;
    let day = || now_s() / 86_400;
    let began = day();
    let (ann, _) = shop.person(json!({})).await;
    let (bob, _) = shop.person(json!({})).await;
    let row = json!({"channel": "email", "identifier": format!("{bob}@example.test"), "reason": "manual"});
    shop.api.post("/suppressions", &row, 201).await;
    let (cid, cid_id) = shop.person(json!({})).await;
    let out = json!({"userId": cid, "channel": "email", "status": "unsubscribed"});
    shop.app.by(&cid).post("/v1/subscriptions/channel", &out, 200).await;
    assert_eq!(shop.status(&cid_id, "email").await, "unsubscribed");
    for number in 0..5 {
        let list = json!({"name": format!("List {number}")});
        let list = shop.api.post("/lists", &list, 201).await.json()["id"].clone();
        for user in [&bob, &cid, &ann] {
            let word =
                json!({"userId": user, "listId": list, "channel": "email", "status": "subscribed"});
            shop.app.post("/v1/subscriptions/group", &word, 200).await;
        }
    }
    // All that is to be asked has been looked at once nothing waits to be.
    eventually("every profile was checked", || async {
        let (db, workspace) = (shop.open.server.db(), shop.id.uuid());
        let work = async move {
            sqlx::query_scalar::<_, i64>(
                "select count(*) from pending_membership where workspace_id = $1 and asked_at is null",
            )
            .bind(workspace)
            .fetch_one(&db)
            .await
            .unwrap()
        };
        (shop.open.server.on(work).await == 0).then_some(())
    })
    .await;
    eventually("three are in the mail", || async {
        (shop.confirmations(&ann).len() >= 3).then_some(())
    })
    .await;
    let (db, workspace) = (shop.open.server.db(), shop.id.uuid());
    let work = async move {
        sqlx::query_scalar::<_, i64>(
            "select count(*) from message where workspace_id = $1 and purpose = 'confirmation'",
        )
        .bind(workspace)
        .fetch_one(&db)
        .await
        .unwrap()
    };
    let sent = shop.open.server.on(work).await;
    // The days are those of UTC: after midnight three more may be sent.
    let days = 1 + day() - began;
    assert!((3..=3 * days).contains(&sent), "{sent}");
    assert!(shop.confirmations(&bob).is_empty() && shop.confirmations(&cid).is_empty());
}

/// An answer without what the caller sent itself.
fn shape(text: &str, names: &[&String]) -> String {
    let text = names.iter().fold(text.to_owned(), |text, name| text.replace(*name, "?"));
    let mut value: Value = serde_json::from_str(&text).unwrap();
    for field in ["expiresAt", "timestamp", "eventId", "token"] {
        if let Some(field) = value.get_mut(field) {
            *field = json!("?");
        }
    }
    for message in value["messages"].as_array_mut().into_iter().flatten() {
        for field in ["messageId", "cssScope"] {
            message[field] = json!("?");
        }
    }
    value.to_string()
}

/// A live in-app campaign for everyone, and one for those with a plan.
async fn two_campaigns(shop: &Shop) {
    for targeting in [
        json!(null),
        json!({"filterGroups": [{"filters": [
            {"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"}]}]}),
    ] {
        let body = json!({
            "name": unique("in-app"), "channel": "in_app", "targeting": targeting,
            "channelConfig": {"displayFrequency": {"maxPerUser": 1}},
            "variants": [{"id": "a", "name": "A", "weight": 100, "customContent": {
                "mode": "native", "title": "Hi {{ user.firstName | default: 'you' }} {{ user.id }}{{ email }}",
                "body": "{{ preferences_url }}{{ unsubscribe_url }}"}}]});
        let campaign = made(&shop.api, &body).await;
        call(&shop.api, &campaign, "send", 200).await;
    }
}

#[tokio::test]
async fn answers_do_not_reveal_whether_a_profile_exists() {
    let shop = Shop::new().await;
    let (ann, _) = shop.person(json!({"firstName": "Ann", "plan": "pro"})).await;
    let (ben, _) = shop.person(json!({})).await;
    let unknown = unique("unknown");
    let list = shop.api.post("/lists", &json!({"name": "L"}), 201).await.json()["id"].clone();
    two_campaigns(&shop).await;
    let messages = async |app: &Device, user: &str| {
        let path = format!("/v1/in-app/messages?userId={user}&platform=web");
        app.get(&path, 200).await
    };
    let proven = eventually("a person's messages are there", || async {
        let found = messages(&shop.app.by(&ann), &ann).await.json()["messages"].clone();
        (found.as_array().unwrap().len() == 2).then_some(found)
    })
    .await;
    assert!(proven.to_string().contains("Hi Ann"), "{proven}");
    let shown = messages(&shop.app, &ann).await.json()["messages"].clone();
    assert_eq!(shown.as_array().unwrap().len(), 1, "targeted messages are shown only with a token");
    assert_eq!(shown[0]["content"]["title"], "Hi you ");
    assert!(!shown.to_string().contains("/p/"), "{shown}");
    let group = |status: &str| json!({"listId": list, "channel": "email", "status": status});
    let absent = json!({"listId": "00000000-0000-7000-8000-00000000dead", "channel": "email", "status": "unsubscribed"});
    let in_app_event = |event: Value| {
        let mut event = event;
        event["platform"] = json!("web");
        event["messageId"] = shown[0]["messageId"].clone();
        event
    };
    let bodies = [
        ("/v1/subscriptions/channel", json!({"channel": "email", "status": "optedIn"})),
        ("/v1/subscriptions/channel", json!({"channel": "email", "status": "unsubscribed"})),
        ("/v1/subscriptions/group", group("subscribed")),
        ("/v1/subscriptions/group", group("unsubscribed")),
        ("/v1/subscriptions/group", absent),
        ("/v1/devices", json!({"token": "t1", "platform": "ios"})),
        ("/v1/devices", json!({"token": "t1", "platform": "ios"})),
        ("/v1/in-app/events", in_app_event(json!({"type": "impression", "eventId": "e1"}))),
        ("/v1/in-app/events", in_app_event(json!({"type": "impression", "variantId": "z"}))),
        ("/v1/in-app/events", in_app_event(json!({"type": "dismiss", "at": "2020-01-01"}))),
    ];
    let names = [&ann, &ben, &unknown];
    for (path, body) in &bodies {
        let mut answers = Vec::new();
        for name in names {
            let mut body = body.clone();
            body["userId"] = json!(name);
            let request = shop.app.request(Method::POST, path).json(&body);
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            answers.push((status, shape(&answer.text().await.unwrap(), &names)));
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{path} {body}: {answers:?}");
        assert!(answers[0].0 < 500, "{answers:?}");
    }
    // Also after she saw it as often as she may.
    let mut answers = Vec::new();
    for name in names {
        answers.push(shape(&messages(&shop.app, name).await.text, &names));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
}

#[tokio::test]
async fn an_unverified_device_never_replaces_a_verified_one() {
    let shop = Shop::new().await;
    let (ann, id) = shop.person(json!({})).await;
    let (bob, _) = shop.person(json!({})).await;
    let body = |user: &str, token: &str| json!({"userId": user, "token": token, "platform": "ios"});
    let tokens = async || {
        let (workspace, id) = (shop.id, id.parse().unwrap());
        let work = async move |app: millrace::app::App| {
            let mut connection = app.db().acquire().await.unwrap();
            let mut found =
                delivery::ops::devices::of_users(&mut connection, workspace, &[id]).await.unwrap();
            let found = found.remove(&id).unwrap_or_default();
            found.into_iter().map(|it| it.token).collect::<Vec<_>>()
        };
        let mut tokens = shop.open.server.with(work).await;
        tokens.sort();
        tokens
    };
    shop.app.by(&ann).post("/v1/devices", &body(&ann, "hers"), 201).await;
    for number in 0..25 {
        shop.app.post("/v1/devices", &body(&ann, &format!("foreign-{number}")), 200).await;
    }
    let held = tokens().await;
    assert!(held.contains(&"hers".to_owned()), "{held:?}");
    assert_eq!(held.len(), 20, "those without a proof are bounded");
    // Nor is it taken over, or removed.
    shop.app.post("/v1/devices", &body(&bob, "hers"), 200).await;
    shop.app.delete("/v1/devices/hers", 404).await;
    shop.app.delete("/v1/devices/foreign-24", 200).await;
    let held = tokens().await;
    assert!(held.contains(&"hers".to_owned()) && held.len() == 19, "{held:?}");
    for number in 0..19 {
        let token = format!("own-{number}");
        shop.app.by(&ann).post("/v1/devices", &body(&ann, &token), 201).await;
    }
    let held = tokens().await;
    assert!(held.len() == 20 && held.iter().all(|it| !it.starts_with("foreign")), "{held:?}");
    shop.app.post("/v1/devices", &body(&ann, "one-more"), 200).await;
    assert_eq!(tokens().await, held, "there is no place for it");
}

#[tokio::test]
async fn a_trusted_sdk_event_triggers_campaigns() {
    let shop = Shop::new().await;
    let (ann, _) = shop.person(json!({})).await;
    let body = json!({
        "name": "Welcome", "channel": "email", "sendType": "triggered",
        "triggerConfig": {"type": "event", "eventName": "Signed Up", "reEntry": "always"},
        "variants": [{"id": "a", "name": "A", "weight": 100,
            "message": {"subject": "Hi", "html": "<p>Hi <a href=\"{{ unsubscribe_url }}\">no more</a></p>"}}]});
    let campaign = made(&shop.api, &body).await;
    call(&shop.api, &campaign, "send", 200).await;
    let event = json!({"userId": ann, "eventName": "Signed Up", "clientEventId": "e1"});
    shop.app.post("/v1/track", &event, 200).await;
    eventually("it has triggered the campaign", || async {
        let to = format!("{ann}@example.test");
        shop.open.mail.taken().iter().any(|it| it.to.contains(&to)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_trusted_sdk_order_needs_an_order_id_or_an_amount() {
    let shop = Shop::new().await;
    let order = |id: &str, properties: Value| json!({"userId": "ann", "eventName": "Order Completed", "clientEventId": id, "properties": properties});
    let events = json!([
        order("e1", json!({"orderId": "1001", "total": 49.90})),
        order("e2", json!({"total": 10})),
        order("e3", json!({"note": "nothing about money"})),
        {"userId": "ann", "eventName": "Last"},
    ]);
    shop.app.post("/v1/track", &events, 200).await;
    eventually("the last one is read", || async {
        let events = shop.api.get("/events/query?userId=ann", 200).await.json();
        (events.as_array().unwrap().len() == 4).then_some(())
    })
    .await;
    let asked = json!({"eventName": "Order Completed", "groupBy": "month", "metrics": ["count", "sum"], "sumField": "total"});
    let found = shop.api.post("/events/aggregate", &asked, 200).await.json();
    let results = &found["data"]["results"];
    assert_eq!(
        (&results[0]["count"], &results[0]["sum_value"]),
        (&json!(2), &json!(59.9)),
        "{found}"
    );
}

#[tokio::test]
async fn an_sdk_event_is_no_conversion_while_its_name_triggers_a_live_campaign() {
    let shop = Shop::new().await;
    let (ann, _) = shop.person(json!({})).await;
    let variants = json!([{"id": "a", "name": "A", "weight": 100,
        "message": {"subject": "Hi", "html": "<p>Hi <a href=\"{{ unsubscribe_url }}\">no more</a></p>"}}]);
    let sent = json!({
        "name": "News", "channel": "email", "variants": variants, "targeting": {"userIds": [ann]},
        "conversionTracking": {"primaryConversion": {"eventName": "Joined"}}});
    let sent = made(&shop.api, &sent).await;
    call(&shop.api, &sent, "send", 200).await;
    eventually("the mail has left", || async {
        let to = format!("{ann}@example.test");
        shop.open.mail.taken().iter().any(|it| it.to.contains(&to)).then_some(())
    })
    .await;
    let path = format!("/campaigns/{}/stats", sent["id"].as_str().unwrap());
    // Its time is that of the answer to the mail, and only events after it are conversions.
    eventually("the mail is recorded", || async {
        let stats = shop.api.get(&path, 200).await.json();
        (stats["stats"]["sent"] == 1).then_some(())
    })
    .await;
    let triggered = json!({
        "name": "Welcome", "channel": "email", "sendType": "triggered", "variants": variants,
        "triggerConfig": {"type": "event", "eventName": "Joined", "reEntry": "once"}});
    let triggered = made(&shop.api, &triggered).await;
    call(&shop.api, &triggered, "send", 200).await;
    let event = |id: &str| json!({"userId": ann, "eventName": "Joined", "clientEventId": id});
    shop.app.post("/v1/track", &event("app"), 200).await;
    shop.api.post("/events/track", &event("server"), 200).await;
    let conversions = async || {
        let stats = shop.api.get(&path, 200).await.json();
        stats["conversionStats"]["primary"]["conversions"].as_f64().map(f64::round)
    };
    eventually("both events are read", || async {
        let events = shop.api.get(format!("/events/query?userId={ann}"), 200).await.json();
        (events.as_array().unwrap().len() == 2).then_some(())
    })
    .await;
    eventually("the server's event counts", || async {
        (conversions().await == Some(1.0)).then_some(())
    })
    .await;
    call(&shop.api, &triggered, "pause", 200).await;
    eventually("the app's counts, too", || async {
        (conversions().await == Some(2.0)).then_some(())
    })
    .await;
}
