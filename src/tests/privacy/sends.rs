//! A person who is being messaged: what a provider has is awaited, and nothing leaves afterwards.

use serde_json::json;

use super::{ended, request};
use crate::{
    kit::{eventually, unique},
    sending::fixture::sender,
};

#[tokio::test]
async fn a_message_that_a_provider_has_is_finished_first_and_none_leaves_afterwards() {
    let sender = sender().await;
    let api = &sender.api();
    let external = unique("messaged");
    let user = json!({"externalId": external, "phone": format!("+49151{}", digits())});
    api.post("/users", &user, 201).await;
    sender.log.hold(std::slice::from_ref(&external));
    let send = json!({"userId": external, "channel": "sms", "message": {"body": "Hi"}});
    api.post("/campaigns/transactional/send", &send, 200).await;
    let calls = || sender.log.of("").iter().filter(|call| call.external_id == external).count();
    eventually("the provider has it", || async { (calls() == 1).then_some(()) }).await;

    let id = request(api, &json!({"type": "erase", "externalId": external})).await;
    eventually("it waits for the provider", || async {
        let found = api.get(format!("/privacy/requests/{id}"), 200).await.json();
        (found["step"] == "sends").then_some(())
    })
    .await;
    api.post("/campaigns/transactional/send", &send, 404).await;
    let found = api.get(format!("/privacy/requests/{id}"), 200).await.json();
    assert_eq!(found["state"], "running", "{found}");
    sender.log.release(std::slice::from_ref(&external));
    assert_eq!(ended(api, &id).await["state"], "done");
    assert_eq!(calls(), 1);
}

/// The last digits of a number that no other test uses.
fn digits() -> String {
    format!("{:08}", uuid::Uuid::now_v7().as_u128() % 100_000_000)
}
