//! `/c/:token`: confirmation of a pending subscription.

use kernel::Channel;
use serde_json::json;

use super::fixture::{Fixture, open, submit};
use crate::suppressions::history::words;

#[tokio::test]
async fn a_double_opt_in_is_pending_until_confirmed() {
    let page = Fixture::new().await;
    let list = page.list(json!({"name": "Club", "requireDoubleOptIn": true})).await;
    let (path, name) = (page.preferences().await, format!("list.{list}.email"));
    let confirmation = page.confirmation(list, Channel::Email).await;
    // Nothing waits yet, so there is nothing to confirm.
    assert_eq!(submit(&confirmation, &[]).await.status, 404);

    let saved = submit(&path, &open(&path).await.form(&["channel.email", &name])).await;
    assert!(saved.html.contains("to be confirmed"), "{}", saved.html);
    assert!(saved.boxes()[&name]);
    assert_eq!(page.membership(list, "email").await, "");
    // Saving again keeps it waiting.
    submit(&path, &saved.form(&["channel.email", &name])).await;
    assert!(open(&path).await.html.contains("to be confirmed"));
    let suppression = json!({
        "channel": "email", "identifier": "ann@example.test", "scope": "group", "listId": list.to_string(),
    });
    page.api().post("/suppressions", &suppression, 201).await;

    let asked = open(&confirmation).await;
    assert!(
        asked.html.contains("Confirm your subscription") && asked.html.contains("Club"),
        "{}",
        asked.html
    );
    assert_eq!(page.membership(list, "email").await, "");
    assert!(page.history().await.is_empty());
    for _ in 0..2 {
        let done = submit(&confirmation, &[]).await;
        assert_eq!(done.status, 200);
        assert!(done.html.contains("You are subscribed"), "{}", done.html);
        assert_eq!(page.membership(list, "email").await, "subscribed");
    }
    assert_eq!(page.history().await.len(), 1);
    let suppressions = words(page.api(), "email", "ann@example.test").await;
    assert_eq!(
        suppressions,
        ["added manual api api_key", "removed manual preference_center recipient"]
    );
    assert!(!open(&path).await.html.contains("to be confirmed"));
}

#[tokio::test]
async fn a_withdrawn_request_cannot_be_confirmed() {
    let page = Fixture::new().await;
    let list = page.list(json!({"name": "Club", "requireDoubleOptIn": true})).await;
    let (path, name) = (page.preferences().await, format!("list.{list}.email"));
    let form = open(&path).await.form(&["channel.email", &name]);
    submit(&path, &form).await;
    let without = open(&path).await.form(&["channel.email"]);
    let saved = submit(&path, &without).await;
    assert!(!saved.boxes()[&name]);
    let done = submit(&page.confirmation(list, Channel::Email).await, &[]).await;
    assert_eq!(done.status, 404);
    assert_ne!(page.membership(list, "email").await, "subscribed");
}
