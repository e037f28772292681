//! Events that follow an identify call of the same person.

use std::sync::Arc;

use kernel::Clock;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, PgPool};

use super::{EVENT, Entered, all, body, launched, people, track};
use crate::{
    campaigns::{call, made},
    kit::{Client, Process, TestServer, Workspace, data_dir, eventually, run, settings},
    sending::fixture::beside,
};

#[tokio::test]
async fn an_event_waits_for_the_identify_call_before_it() {
    let dir = data_dir("triggers-profile-calls");
    let (process, key) = Process::start(&dir, &[]).await;
    let key = key.unwrap();
    let api = process.client(&key);
    let always = || json!({"reEntry": "always"});
    let everyone = made(&api, &body(always(), json!({}))).await;
    let targeting = json!({"filterGroups": [{"filters": [{"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"}]}]});
    let pro = made(&api, &body(always(), json!({"targeting": targeting}))).await;
    for campaign in [&everyone, &pro] {
        call(&api, campaign, "send", 200).await;
    }
    let [(_, database), _] = beside(&dir);
    // Identify calls have to wait, as behind many others.
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    sqlx::raw_sql("lock table users in share row exclusive mode")
        .execute(&mut *transaction)
        .await
        .unwrap();

    let sdk = Client::new(&process.url, None);
    let send = async |calls: Value| {
        let request = sdk.request(Method::POST, "/v1/batch").basic_auth(&key, Some(""));
        sdk.send(request.json(&json!({"batch": calls})), 200).await;
    };
    send(json!([
        {"type": "identify", "userId": "ann", "anonymousId": "a1", "traits": {"plan": "pro"}},
        {"type": "track", "userId": "ann", "event": EVENT, "messageId": "by user"},
    ]))
    .await;
    send(json!([{"type": "track", "anonymousId": "a1", "event": EVENT, "messageId": "by link"}]))
        .await;
    eventually("both events are stored", || async {
        let stored = api.get(format!("/events/query?eventName={EVENT}"), 200).await.json();
        (stored.as_array()?.len() == 2).then_some(())
    })
    .await;
    transaction.commit().await.unwrap();

    let db = PgPool::connect(&database).await.unwrap();
    for campaign in [&everyone, &pro] {
        let entered = eventually("both events triggered it", || async {
            let entered = all(db.clone(), campaign).await;
            (entered.len() == 2).then_some(entered)
        })
        .await;
        let mut short: Vec<_> = entered.iter().map(|it| (&it.event[..], &it.user[..])).collect();
        short.sort_unstable();
        assert_eq!(short, [("by link", "ann"), ("by user", "ann")]);
    }
}

/// The entries of a campaign on this server.
async fn entered(server: &TestServer, campaign: &Value) -> Vec<Entered> {
    let (db, campaign) = (server.db(), campaign.clone());
    server.on(async move { all(db, &campaign).await }).await
}

#[tokio::test]
async fn events_behind_very_many_calls_wait_and_events_of_others_do_not_wait_for_them() {
    let settings = settings(&data_dir("triggers-many-calls"), &[]);
    let server = tokio::task::spawn_blocking(|| run(settings, Clock::system())).await.unwrap();
    let server = Arc::new(server);
    let (many, few) = (Workspace::on(&server).await, Workspace::on(&server).await);
    let always = || json!({"reEntry": "always"});
    let of_many = launched(&many, always(), json!({})).await;
    let of_few = launched(&few, always(), json!({})).await;
    people(&many.api, &["u0"]).await;
    people(&few.api, &["ann"]).await;

    // The first of the calls waits for this profile, and the others behind it.
    let (db, workspace) = (server.db(), many.id.uuid());
    let locked = server.on(async move {
        let mut transaction = db.begin().await.unwrap();
        sqlx::query("select from users where workspace_id = $1 and external_id = 'u0' for update")
            .bind(workspace)
            .execute(&mut *transaction)
            .await
            .unwrap();
        transaction
    });
    let transaction = locked.await;
    let (key, _) = server.key(&many.name, "events:write,users:write").await;
    let calls: Vec<Value> = (0..3_000)
        .map(|number| json!({"type": "identify", "userId": format!("u{number}"), "traits": {"email": format!("u{number}@example.test")}}))
        .collect();
    let sdk = Client::new(&server.url, None);
    let request = sdk.request(Method::POST, "/v1/batch").basic_auth(&key, Some(""));
    sdk.send(request.json(&json!({"batch": calls})), 200).await;
    track(&many.api, "u2999", "last", json!({})).await;
    track(&few.api, "ann", "other", json!({})).await;
    eventually("the event of the other workspace triggered its campaign", || async {
        (!entered(&server, &of_few).await.is_empty()).then_some(())
    })
    .await;
    assert!(entered(&server, &of_many).await.is_empty(), "its profile is not there yet");
    server.on(async move { transaction.commit().await.unwrap() }).await;
    let entries = eventually("the event found the profile of the call before it", || async {
        let entries = entered(&server, &of_many).await;
        (!entries.is_empty()).then_some(entries)
    })
    .await;
    assert_eq!(entries.iter().map(Entered::short).collect::<Vec<_>>(), [("last", "u2999", 1)]);
}
