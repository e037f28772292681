//! Short links redirect for a year and a month.

use reqwest::{Client, StatusCode, redirect::Policy};
use serde_json::json;

use super::{
    clocked::{DAY, MINUTE, clocked},
    fixture::{Cohort, until},
};
use crate::kit::{eventually, unique};

#[tokio::test(flavor = "multi_thread")]
async fn expired_short_links_are_deleted() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = Cohort::new(api, 0, "short").await;
    let body = json!({"externalId": unique("short"), "phone": "+15550100123",
        "attributes": {"cohort": cohort.name}});
    api.post("/users", &body, 201).await;
    let message = json!({"body": "See https://shop.test/a/very/long/way", "shortenLinks": true});
    let variants = json!([{"id": "a", "name": "A", "weight": 100, "message": message}]);
    let id = cohort.send(api, &json!({"channel": "sms", "variants": variants})).await;
    until(api, &id, "completed").await;
    let text = log.of(&id).pop().unwrap().text;
    let link = text.strip_prefix("See ").unwrap();
    let browser = Client::builder().redirect(Policy::none()).build().unwrap();
    let status = async || browser.get(link).send().await.unwrap().status();
    assert_eq!(status().await, StatusCode::FOUND);
    clocked.pass(400 * DAY).await;
    clocked.process_due().await;
    assert_eq!(status().await, StatusCode::FOUND, "not before its time");
    clocked.pass(60 * MINUTE).await;
    eventually("it is forgotten", async || (status().await == StatusCode::NOT_FOUND).then_some(()))
        .await;
    assert_eq!(clocked.sql("select from short_link where workspace_id = $1").await, 0);
}
