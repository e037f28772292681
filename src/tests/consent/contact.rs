//! Ids and channels in paths, and the answer about a contact.

use serde_json::{Value, json};

use super::fixture::{self, Contact, delete_with, put};
use crate::kit::Workspace;

const UNKNOWN: &str = "feedfeedfeedfeedfeedfeed";
const UUID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const NO_ID: &str = "userId must be a contact id: 24 hexadecimal characters, or a UUID";
const NO_CHANNEL: &str = "channel must be one of: email, sms, whatsapp, push, viber";

/// Every route, asked about an id; gives the answers' bodies.
async fn every_route(
    workspace: &Workspace,
    id: &str,
    reads: u16,
    checks: u16,
    writes: u16,
) -> Vec<Value> {
    let (api, list) = (&workspace.api, fixture::list(workspace.id, false).await);
    let at = |rest: &str| format!("/subscriptions/contacts/{id}{rest}");
    let channel = json!({"channel": "email", "status": "subscribed"});
    let member = json!({"channel": "email"});
    vec![
        api.get(at(""), reads).await.json(),
        api.get(at("/lists"), reads).await.json(),
        api.get(at("/history"), reads).await.json(),
        api.get(at("/channels/sms/status"), checks).await.json(),
        api.get(at("/email-valid"), checks).await.json(),
        put(api, &at("/channels/email"), &channel, writes).await.json(),
        api.post(&at("/clear-bounce"), &json!({}), writes).await.json(),
        api.post(&at(&format!("/lists/{list}")), &member, writes).await.json(),
        delete_with(api, &at(&format!("/lists/{list}")), &member, writes).await.json(),
    ]
}

#[tokio::test]
async fn an_invalid_id_is_400_on_every_route() {
    let workspace = Workspace::new().await;
    for id in ["ann", "feedfeedfeedfeedfeedfee", "feedfeedfeedfeedfeedfeez", &UUID.replace('-', "")]
    {
        for answer in every_route(&workspace, id, 400, 400, 400).await {
            assert_eq!(answer["errors"], json!([NO_ID]), "{id}");
        }
    }
}

#[tokio::test]
async fn an_unknown_contact_is_404_except_in_the_two_checks() {
    let workspace = Workspace::new().await;
    let other = Workspace::new().await;
    let theirs = Contact::new(&other).await.id.to_string();
    let deleted = Contact::new(&workspace).await;
    deleted.set(&workspace.api, "sms", "optedIn").await;
    fixture::delete(workspace.id, deleted.id).await;
    for id in [UNKNOWN, UUID, &theirs, &deleted.id.to_string()] {
        let answers = every_route(&workspace, id, 404, 200, 404).await;
        for (number, answer) in answers.iter().enumerate() {
            match number {
                3 => assert_eq!(*answer, json!({"subscribed": false}), "{id}"),
                4 => assert_eq!(*answer, json!({"valid": false}), "{id}"),
                _ => assert_eq!(answer["message"], "Contact not found", "{id} {number}"),
            }
        }
    }
}

#[tokio::test]
async fn ids_are_accepted_in_either_case() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    let upper = ann.id.to_string().to_uppercase();
    for answer in every_route(&workspace, &upper, 200, 200, 200).await {
        assert!(answer.get("statusCode").is_none(), "{answer}");
    }
}

#[tokio::test]
async fn an_invalid_channel_is_400_even_for_an_unknown_contact() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    let body = json!({"channel": "email", "status": "subscribed"});
    for channel in ["fax", "Email", "in_app", "%20"] {
        let path = ann.path(&format!("/channels/{channel}"));
        let answer = put(&workspace.api, &path, &body, 400).await;
        assert_eq!(answer.errors(), [NO_CHANNEL], "{channel}");
        let answer = workspace.api.get(format!("{path}/status"), 400).await;
        assert_eq!(answer.errors(), [NO_CHANNEL], "{channel}");
    }
    let both = workspace.api.get("/subscriptions/contacts/ann/channels/fax/status", 400).await;
    assert_eq!(both.errors(), [NO_ID, NO_CHANNEL]);
}

#[tokio::test]
async fn a_contact_without_recorded_consent_counts_as_subscribed() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    let answer = workspace.api.get(ann.path(""), 200).await.json();
    assert_eq!(answer, json!({"channels": {}, "lists": []}));
    for channel in ["email", "sms", "whatsapp", "push", "viber"] {
        let path = ann.path(&format!("/channels/{channel}/status"));
        assert_eq!(workspace.api.get(path, 200).await.json(), json!({"subscribed": true}));
    }
    let valid = workspace.api.get(ann.path("/email-valid"), 200).await.json();
    assert_eq!(valid, json!({"valid": true}));
    assert_eq!(workspace.api.get(ann.path("/lists"), 200).await.json(), json!([]));
    let history = workspace.api.get(ann.path("/history"), 200).await.json();
    assert_eq!(history, json!({"items": [], "total": 0}));
}

#[tokio::test]
async fn a_contacts_answer_has_its_first_500_memberships() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    fixture::run(
        workspace.id,
        "with list as (
             insert into subscription_list (workspace_id, id, name, display_order, created_at, updated_at)
             select $1, gen_random_uuid(), 'list ' || n, n, now(), now() from generate_series(1, 501) n
             returning id)
         insert into list_membership (workspace_id, id, list_id, user_id, channel, status, created_at, updated_at)
         select $1, gen_random_uuid(), list.id, users.id, 'email', 'subscribed', now(), now()
         from list, users where users.workspace_id = $1",
    )
    .await;
    let contact = workspace.api.get(ann.path(""), 200).await.json();
    assert_eq!(contact["lists"].as_array().unwrap().len(), 500);
    let all = workspace.api.get(ann.path("/lists"), 200).await.json();
    assert_eq!(all.as_array().unwrap().len(), 501);
    assert_eq!(contact["lists"].as_array().unwrap()[..], all.as_array().unwrap()[..500]);
}
