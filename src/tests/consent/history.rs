//! The history: fields of an entry, order, pages.

use serde_json::{Value, json};

use super::fixture::{self, Contact, put, tenant};
use crate::kit::Workspace;

#[tokio::test]
async fn a_history_entry_has_actor_change_source_and_reason() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    let tenant = tenant(workspace.id).await;
    let body = json!({
        "channel": "email", "status": "optedIn", "source": "event_booth",
        "consentText": "I agree.", "reason": "signed on paper",
    });
    let request = workspace
        .api
        .request(reqwest::Method::PUT, &ann.path("/channels/email"))
        .header("user-agent", "booth/1.0")
        .header("x-forwarded-for", "1.2.3.4")
        .json(&body);
    workspace.api.send(request, 200).await;
    let entry = ann.history(&workspace.api).await[0].clone();
    let actor = entry["actor"].as_str().unwrap();
    assert!(actor.starts_with("api_key:") && actor.len() == "api_key:".len() + 12, "{actor}");
    assert_eq!(
        entry,
        json!({
            "id": entry["id"], "organizationId": tenant.organization, "workspaceId": tenant.workspace,
            "contactId": ann.id, "channel": "email", "listId": null, "action": "subscribe",
            "previousStatus": null, "newStatus": "optedIn", "source": "event_booth",
            // No proxy is trusted here, so the header is a caller's claim.
            "ipAddress": "127.0.0.1", "userAgent": "booth/1.0", "actor": actor,
            "consentText": "I agree.", "metadata": {"reason": "signed on paper"},
            "createdAt": entry["createdAt"],
        })
    );
    ann.set(&workspace.api, "email", "unsubscribed").await;
    let entry = ann.history(&workspace.api).await[0].clone();
    assert_eq!((&entry["metadata"], &entry["consentText"]), (&json!({}), &Value::Null));
    assert_eq!(entry["source"], "api");
}

#[tokio::test]
async fn a_history_entry_names_the_session() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    let dashboard = fixture::session(workspace.id, "compliance:write");
    ann.set(&dashboard, "sms", "unsubscribed").await;
    assert_eq!(ann.history(&workspace.api).await[0]["actor"], "user:ann");
}

#[tokio::test]
async fn history_pages_are_newest_first_with_the_full_total() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    let path = ann.path("/channels/push");
    for number in 0..7 {
        let body = json!({"channel": "push", "status": "subscribed", "reason": number.to_string()});
        put(&workspace.api, &path, &body, 200).await;
    }
    let page = async |query: &str| {
        let page = workspace.api.get(ann.path(&format!("/history{query}")), 200).await.json();
        assert_eq!(page["total"], 7, "{query}");
        assert_eq!(page.as_object().unwrap().len(), 2);
        let reason = |entry: &Value| entry["metadata"]["reason"].as_str().unwrap().to_owned();
        page["items"].as_array().unwrap().iter().map(reason).collect::<String>()
    };
    for (query, expected) in [
        ("", "6543210"),
        ("?limit=3", "654"),
        ("?limit=3&offset=2", "432"),
        ("?limit=3&offset=6", "0"),
        ("?offset=7", ""),
        ("?limit=x&offset=y", "6543210"),
        ("?limit=0&offset=-1", "6543210"),
        ("?limit=100000", "6543210"),
        ("?offset=99999999999999999999", ""),
    ] {
        assert_eq!(page(query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn a_page_holds_50_by_default_and_200_at_most() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    fixture::run(
        workspace.id,
        "insert into subscription_history (workspace_id, id, user_id, channel, action, source, actor, created_at)
         select $1, gen_random_uuid(), u.id, 'sms', 'import', 'import', 'test', now()
         from users u, generate_series(1, 201) where u.workspace_id = $1",
    )
    .await;
    for (query, length) in
        [("", 50), ("?limit=x", 50), ("?limit=200", 200), ("?limit=201", 200), ("?limit=1", 1)]
    {
        let page = workspace.api.get(ann.path(&format!("/history{query}")), 200).await.json();
        assert_eq!(page["items"].as_array().unwrap().len(), length, "{query}");
        assert_eq!(page["total"], 201);
    }
}
