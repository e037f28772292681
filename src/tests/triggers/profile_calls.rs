//! Events that follow an identify call of the same person.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, PgPool};

use super::{EVENT, all, body};
use crate::{
    campaigns::{call, made},
    kit::{Client, Process, data_dir, eventually},
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
