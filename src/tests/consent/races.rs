//! Concurrent calls: nothing is lost, and consent and suppressions agree at the end.

use serde_json::{Value, json};

use super::fixture::{self, Contact, delete_with, put};
use crate::kit::Workspace;

/// Writes that happen at once.
const WRITES: usize = 100;

#[tokio::test]
async fn concurrent_writes_of_one_channel_form_a_consistent_history() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    for channel in ["email", "sms"] {
        let path = ann.path(&format!("/channels/{channel}"));
        let writes = (0..WRITES).map(|number| {
            let status = ["optedIn", "unsubscribed", "subscribed", "unsubscribed"][number % 4];
            let body = json!({"channel": channel, "status": status, "reason": number.to_string()});
            let (api, path) = (workspace.api.clone(), path.clone());
            tokio::spawn(async move { put(&api, &path, &body, 200).await.json() })
        });
        for write in writes.collect::<Vec<_>>() {
            write.await.unwrap();
        }
        let mut chain: Vec<Value> = ann
            .history(&workspace.api)
            .await
            .into_iter()
            .filter(|entry| entry["channel"] == channel)
            .collect();
        assert_eq!(chain.len(), WRITES);
        chain.reverse();
        let mut reasons: Vec<_> = chain.iter().map(|e| e["metadata"].to_string()).collect();
        reasons.sort();
        reasons.dedup();
        assert_eq!(reasons.len(), WRITES, "every write is in the history once");
        assert!(chain[0]["previousStatus"].is_null());
        for pair in chain.windows(2) {
            assert_eq!(pair[0]["newStatus"], pair[1]["previousStatus"], "the chain is broken");
            assert!(pair[0]["createdAt"].as_str() <= pair[1]["createdAt"].as_str());
        }
        let last = chain[WRITES - 1]["newStatus"].clone();
        let contact = workspace.api.get(ann.path(""), 200).await.json();
        assert_eq!(contact["channels"][channel]["status"], last);
        let suppressed = ann.standing(&workspace.api, channel).await["suppressed"].clone();
        assert_eq!(suppressed, json!(last == "unsubscribed"), "{channel}");
    }
}

#[tokio::test]
async fn concurrent_writes_of_shared_addresses_do_not_deadlock() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    let twin = Contact::with(&workspace, &ann.email, &ann.phone).await;
    let list = fixture::list(workspace.id, false).await;
    let mut writes = Vec::new();
    for number in 0..WRITES {
        let (api, contact) =
            (workspace.api.clone(), if number % 2 == 0 { ann.clone() } else { twin.clone() });
        writes.push(tokio::spawn(async move {
            let status = if number % 4 < 2 { "unsubscribed" } else { "optedIn" };
            match number % 5 {
                0 | 1 => drop(contact.set(&api, "email", status).await),
                2 => {
                    let bounce = json!({"identifier": contact.email});
                    let request = api.request(reqwest::Method::POST, "/suppressions/hard-bounce");
                    let answer = request.json(&bounce).send().await.unwrap();
                    assert!(answer.status().is_success(), "{answer:?}");
                }
                3 => {
                    let path = format!("/suppressions/{}?channel=email", contact.email);
                    api.send(api.request(reqwest::Method::DELETE, &path), 200).await;
                }
                _ => {
                    let path = contact.path(&format!("/lists/{list}"));
                    let body = json!({"channel": "email"});
                    if status == "optedIn" {
                        api.post(&path, &body, 200).await;
                    } else {
                        delete_with(&api, &path, &body, 200).await;
                    }
                    api.post(&contact.path("/clear-bounce"), &json!({}), 200).await;
                }
            }
        }));
    }
    for write in writes {
        write.await.unwrap();
    }
}

#[tokio::test]
async fn concurrent_subscriptions_create_one_membership() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    let list = fixture::list(workspace.id, false).await;
    let path = ann.path(&format!("/lists/{list}"));
    let joins = (0..WRITES).map(|_| {
        let (api, path) = (workspace.api.clone(), path.clone());
        tokio::spawn(async move { api.post(&path, &json!({"channel": "email"}), 200).await.json() })
    });
    let mut ids = Vec::new();
    for join in joins.collect::<Vec<_>>() {
        ids.push(join.await.unwrap()["_id"].to_string());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1);
    let actions = ann.actions(&workspace.api).await;
    assert_eq!(actions.iter().filter(|action| *action == "subscribe").count(), 1);
    assert_eq!(actions.len(), WRITES);
}
