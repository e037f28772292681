//! What was acknowledged survives a kill: events once, profiles as they were sent.

use super::*;
use crate::kit::{Process, data_dir};

/// How often it is killed.
const ROUNDS: usize = 4;

/// A request of an SDK to this server.
fn sender(process: &Process, key: &str, path: &str) -> RequestBuilder {
    Client::new(&process.url, None).request(Method::POST, path).basic_auth(key, Some(""))
}

#[tokio::test]
async fn acknowledged_calls_are_applied_once_whatever_is_killed() {
    let dir = data_dir("event-sdks-killed");
    let (mut process, key) = Process::start(&dir, &[]).await;
    let key = key.unwrap();
    for round in 0..ROUNDS {
        let client = process.client(&key);
        // Written by another caller between the rounds: an identify that is applied again would undo it.
        if round > 0 {
            let body = json!({"externalId": "ann", "attributes": {"touched": round}});
            client.post("/users", &body, 200).await;
        }
        let calls = [
            json!({"type": "track", "event": "E", "userId": "ann", "messageId": format!("t{round}")}),
            json!({"type": "identify", "userId": "ann", "anonymousId": format!("a{round}"), "messageId": format!("i{round}"),
                "traits": {"round": round, "touched": 0, format!("r{round}"): true}}),
        ];
        // The first answer may be lost: it is sent twice, by another `sentAt`.
        for _ in 0..2 {
            let request = sender(&process, &key, "/v1/batch");
            let sent_at = Clock::system().now().utc().to_rfc3339();
            client.send(request.json(&json!({"batch": calls, "sentAt": sent_at})), 200).await;
        }
        if round % 2 == 1 {
            eventually("the round is applied", || async {
                let user = client.get("/users/search?query=ann", 200).await.json();
                (user["data"][0]["attributes"]["round"] == round).then_some(())
            })
            .await;
        }
        process.kill();
        process = Process::start(&dir, &[]).await.0;
        eventually("the calls are applied", || async {
            let user = process.client(&key).get("/users/search?query=ann", 200).await.json();
            (user["data"][0]["attributes"]["round"] == round).then_some(())
        })
        .await;
    }
    let client = process.client(&key);
    client.post("/users", &json!({"externalId": "ann", "attributes": {"touched": 9}}), 200).await;
    process.kill();
    let (process, _) = Process::start(&dir, &[]).await;
    let client = process.client(&key);
    let events = eventually("the events are visible", || async {
        let events = client.get("/events/query?userId=ann", 200).await.json();
        let events = events.as_array().unwrap().len();
        (events >= ROUNDS).then_some(events)
    })
    .await;
    assert_eq!(events, ROUNDS);
    // One more call shows that everything before it was read again.
    let request = sender(&process, &key, "/v1/identify");
    client.send(request.json(&json!({"userId": "ann", "traits": {"last": 1}})), 200).await;
    let user = eventually("the last call is applied", || async {
        let user = client.get("/users/search?query=ann", 200).await.json();
        (user["data"][0]["attributes"]["last"] == 1).then_some(user)
    })
    .await;
    let attributes = &user["data"][0]["attributes"];
    assert_eq!(
        (&attributes["touched"], user["data"].as_array().unwrap().len()),
        (&json!(9), 1),
        "{user}"
    );
    let ids = client.get("/users/ann/identities", 200).await.json();
    assert_eq!(ids["data"].as_array().unwrap().len(), 2 + ROUNDS, "{ids}");
}
