//! Each source of a change.

use reqwest::Method;
use serde_json::{Value, json};

use super::{COPIED_MAX, Stores, copied, wait};
use crate::{
    campaigns::{call, id, made, put, triggered},
    identity::{link, merge},
    kit::{Workspace, eventually, server},
};

async fn profile(workspace: &Workspace, body: &Value) -> String {
    let made = workspace.api.post("/users", body, 201).await.json();
    made["id"].as_str().unwrap().to_owned()
}

async fn send(workspace: &Workspace, method: Method, path: &str, body: &Value) {
    workspace.api.send(workspace.api.request(method, path).json(body), 200).await;
}

async fn delete(workspace: &Workspace, path: &str) {
    workspace.api.send(workspace.api.request(Method::DELETE, path), 204).await;
}

async fn consent(workspace: &Workspace, user: &str, channel: &str, status: &str) {
    let path = format!("/subscriptions/contacts/{user}/channels/{channel}");
    let body = json!({"channel": channel, "status": status});
    send(workspace, Method::PUT, &path, &body).await;
}

async fn list(workspace: &Workspace, name: &str) -> String {
    let made = workspace
        .api
        .post("/lists", &json!({"name": name, "channels": ["email", "sms", "viber"]}), 201)
        .await
        .json();
    made["id"].as_str().unwrap().to_owned()
}

/// More profiles than a batch copies at most, and no multiple of the profiles that a row of the queue has.
#[tokio::test]
async fn profiles_of_one_statement_are_queued_by_the_hundred_and_all_copied() {
    let workspace = Workspace::new().await;
    let (db, id) = (server().db(), workspace.id.uuid());
    let insert = "insert into users (workspace_id, id, external_id, attributes, created_at, updated_at)
                  select $1, decode(lpad(to_hex(n), 24, '0'), 'hex'), 'person-' || n, '{}', now(), now()
                  from generate_series(1, 5205) n";
    let queued = "select cardinality(user_ids), count(*) from people_change where workspace_id = $1
                  group by 1 order by 1";
    let rows: Vec<(i32, i64)> = server()
        .on(async move {
            let mut tx = db.begin().await.unwrap();
            sqlx::query(insert).bind(id).execute(&mut *tx).await.unwrap();
            let rows = sqlx::query_as(queued).bind(id).fetch_all(&mut *tx).await.unwrap();
            tx.commit().await.unwrap();
            rows
        })
        .await;
    assert_eq!(rows, [(5, 1), (100, 52)]);
    Stores::shared().until_equal(Some(id), COPIED_MAX).await;
}

/// Rows from before migration 76, and of statements that were under way then.
#[tokio::test]
async fn a_row_of_one_profile_leaves_the_queue() {
    let workspace = Workspace::new().await;
    let (db, id) = (server().db(), workspace.id.uuid());
    let ann = profile(&workspace, &json!({"externalId": "ann"})).await;
    let insert = "insert into people_change (workspace_id, user_id) values ($1, decode($2, 'hex'))";
    server()
        .on(async move {
            sqlx::query(insert).bind(id).bind(&ann).execute(&db).await.unwrap();
        })
        .await;
    eventually("the queue is empty", async || {
        let db = server().db();
        let sql = "select count(*) from people_change where workspace_id = $1";
        let queued: i64 = server()
            .on(async move { sqlx::query_scalar(sql).bind(id).fetch_one(&db).await.unwrap() })
            .await;
        (queued == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_profile_is_copied_with_its_identifiers_and_typed_attributes() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "Ann@Example.test", "phone": "+49 30 1234567", "attributes": {
        "plan": "pro", "age": 41, "score": -2.5, "vip": true, "none": null, "tags": ["a", "b"],
        "address": {"city": "Köln", "zip": 50667}, "it's \"odd\"": "\\ \n ' \t"}});
    let ann = profile(&workspace, &ann).await;
    let copy = copied(&workspace, &ann).await;
    assert_eq!(
        (&copy["external_id"], &copy["email"], &copy["phone"], &copy["numbers"], &copy["texts"]),
        (
            &json!("ann"),
            &json!("ann@example.test"),
            &json!("+49 30 1234567"),
            &json!({"age": 41, "score": -2.5}),
            &json!({"plan": "pro", "it's \"odd\"": "\\ \n ' \t"})
        )
    );

    send(
        &workspace,
        Method::POST,
        "/users",
        &json!({"externalId": "ann", "attributes": {"plan": 7, "age": "old"}}),
    )
    .await;
    let copy = copied(&workspace, &ann).await;
    assert_eq!((&copy["numbers"]["plan"], &copy["texts"]["age"]), (&json!(7), &json!("old")));
    assert_eq!((copy["texts"].get("plan"), copy["numbers"].get("age")), (None, None));

    let path = format!("/users/{ann}");
    send(&workspace, Method::PUT, &path, &json!({"email": "ann2@example.test", "phone": null}))
        .await;
    let copy = copied(&workspace, &ann).await;
    assert_eq!((&copy["email"], &copy["phone"]), (&json!("ann2@example.test"), &json!("")));
}

#[tokio::test]
async fn a_number_beyond_64_bits_does_not_hide_the_other_attributes() {
    let workspace = Workspace::new().await;
    let ann =
        format!(r#"{{"externalId": "ann", "attributes": {{"plan": "pro", "n": 1{:0>23}}}}}"#, 0);
    workspace.api.post_bytes("/users", ann, 201).await;
    let event = json!({"userId": "ann", "eventName": "Seen", "timestamp": "2026-03-05T12:00:00Z"});
    workspace.api.post("/events/track", &event, 200).await;
    assert!(wait(&workspace, COPIED_MAX).await, "copied in time");
    for (attribute, expected) in [("plan", "pro"), ("n", "1e23")] {
        let question = json!({"series": [{"eventName": "Seen"}], "breakdown": {"profile": attribute},
                              "from": "2026-03-05", "to": "2026-03-05"});
        eventually("the event is counted", || async {
            let answer = workspace.api.post("/insights/trends", &question, 200).await.json();
            let breakdown = answer["series"][0]["breakdown"].clone();
            (breakdown == expected).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn all_profiles_of_an_array_are_copied_created_and_changed() {
    let workspace = Workspace::new().await;
    for round in 0..2 {
        let users: Vec<Value> = (0..1000)
            .map(|n| json!({"externalId": format!("u{n}"), "attributes": {"round": round, "n": n}}))
            .collect();
        send(&workspace, Method::POST, "/users", &json!(users)).await;
    }
    let last = workspace.api.get("/users/by-user-id/u999", 200).await.json();
    let copy = copied(&workspace, last["id"].as_str().unwrap()).await;
    assert_eq!(copy["numbers"], json!({"round": 1, "n": 999}));
}

#[tokio::test]
async fn consent_of_channels_and_lists_is_copied() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, &json!({"externalId": "ann", "email": "ann@example.test"})).await;
    assert_eq!(copied(&workspace, &ann).await["consent"], json!({}));
    consent(&workspace, &ann, "email", "optedIn").await;
    consent(&workspace, &ann, "sms", "unsubscribed").await;
    let both = json!({"email": "optedIn", "sms": "unsubscribed"});
    assert_eq!(copied(&workspace, &ann).await["consent"], both);
    consent(&workspace, &ann, "email", "unsubscribed").await;
    let both = json!({"email": "unsubscribed", "sms": "unsubscribed"});
    assert_eq!(copied(&workspace, &ann).await["consent"], both);

    let (news, deals) = (list(&workspace, "news").await, list(&workspace, "deals").await);
    let path = |list: &str| format!("/subscriptions/contacts/{ann}/lists/{list}");
    for (list, channel) in [(&news, "email"), (&deals, "email"), (&deals, "sms")] {
        send(&workspace, Method::POST, &path(list), &json!({"channel": channel})).await;
    }
    let mut lists = [news.clone(), deals.clone()];
    lists.sort();
    assert_eq!(copied(&workspace, &ann).await["lists"], json!(lists));
    for (list, channel) in [(&news, "email"), (&deals, "email")] {
        send(&workspace, Method::DELETE, &path(list), &json!({"channel": channel})).await;
    }
    assert_eq!(copied(&workspace, &ann).await["lists"], json!([deals]), "by the other channel");

    // Many at once, and a bounce, which changes no state.
    let body = json!({"contactIds": [ann], "channel": "viber", "source": "import"});
    send(&workspace, Method::POST, &format!("/lists/{news}/members/bulk"), &body).await;
    let body = json!({"identifier": "ann@example.test"});
    workspace.api.post("/suppressions/hard-bounce", &body, 201).await;
    assert_eq!(copied(&workspace, &ann).await["lists"], json!(lists));
}

#[tokio::test]
async fn links_are_copied_and_a_merge_moves_all_to_the_survivor() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, &json!({"externalId": "ann", "attributes": {"a": 1}})).await;
    let bob = profile(&workspace, &json!({"externalId": "bob", "attributes": {"b": 2}})).await;
    for (anonymous, user) in [("z", &ann), ("Y", &ann), ("x", &bob)] {
        link(&workspace, anonymous, user).await;
    }
    assert_eq!(copied(&workspace, &ann).await["anonymous_ids"], json!(["Y", "z"]));
    let news = list(&workspace, "news").await;
    let path = format!("/subscriptions/contacts/{ann}/lists/{news}");
    send(&workspace, Method::POST, &path, &json!({"channel": "email"})).await;
    consent(&workspace, &ann, "push", "unsubscribed").await;
    copied(&workspace, &ann).await;

    merge(&workspace, "ann", "bob").await;
    let copy = copied(&workspace, &bob).await;
    assert_eq!(
        (&copy["anonymous_ids"], &copy["lists"], &copy["consent"], &copy["numbers"]),
        (
            &json!(["Y", "x", "z"]),
            &json!([news]),
            &json!({"push": "unsubscribed"}),
            &json!({"a": 1, "b": 2})
        )
    );
    assert_eq!(copied(&workspace, &ann).await, json!({"is_deleted": 1}), "with empty columns");
}

#[tokio::test]
async fn deleted_and_restored_profiles_are_copied() {
    let workspace = Workspace::new().await;
    let body =
        json!({"externalId": "ann", "email": "ann@example.test", "attributes": {"plan": "pro"}});
    let ann = profile(&workspace, &body).await;
    link(&workspace, "a", &ann).await;
    let before = copied(&workspace, &ann).await;
    delete(&workspace, &format!("/users/{ann}")).await;
    assert_eq!(copied(&workspace, &ann).await, json!({"is_deleted": 1}));
    let (db, id) = (server().db(), workspace.id.uuid());
    let restore = "update users set deleted_at = null, deleted_by = null, deleted_via = null where workspace_id = $1";
    server().on(async move { sqlx::query(restore).bind(id).execute(&db).await.unwrap() }).await;
    assert_eq!(copied(&workspace, &ann).await, before);
}

#[tokio::test]
async fn campaigns_are_copied_with_their_names_and_states() {
    let workspace = Workspace::new().await;
    let march = made(&workspace.api, &triggered("March")).await;
    let copy = copied(&workspace, id(&march)).await;
    assert_eq!(
        (&copy["name"], &copy["channel"], &copy["send_type"], &copy["status"]),
        (&json!("March"), &json!("email"), &json!("triggered"), &json!("draft"))
    );
    put(&workspace.api, &march, json!({"name": "April"}), 200).await;
    assert_eq!(copied(&workspace, id(&march)).await["name"], "April");
    for (suffix, status) in [("send", "active"), ("pause", "paused"), ("archive", "archived")] {
        call(&workspace.api, &march, suffix, 200).await;
        assert_eq!(copied(&workspace, id(&march)).await["status"], status);
    }

    let draft = made(&workspace.api, &triggered("Draft")).await;
    copied(&workspace, id(&draft)).await;
    delete(&workspace, &format!("/campaigns/{}", id(&draft))).await;
    assert_eq!(copied(&workspace, id(&draft)).await, json!({"is_deleted": 1}));
}
