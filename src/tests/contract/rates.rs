//! Which routes are limited, and that a bucket is a credential's own.

use serde_json::json;

use crate::kit::Workspace;

const LIMIT: &str = "ratelimit-limit";
const REMAINING: &str = "ratelimit-remaining";

#[tokio::test]
async fn what_programs_manage_tells_its_rate_and_users_and_events_have_none() {
    let workspace = Workspace::new().await;
    let forbidden = workspace.with_scopes("users:write").await;
    for (path, status) in [
        ("/lists", 200),
        ("/suppressions?channel=email", 200),
        ("/subscriptions/contacts/0123456789abcdef01234567", 404),
        ("/subscriptions/hosted-page/preference-center", 200),
    ] {
        let answer = workspace.api.get(path, status).await;
        assert_eq!(answer.headers[LIMIT], "1000", "{path}");
        assert_eq!(answer.headers["ratelimit-policy"], "\"mgmt\";q=1000;w=1", "{path}");
        let refused = forbidden.get(path, 403).await;
        assert_eq!(refused.headers[REMAINING], "1000", "what is refused counts, too: {path}");
    }
    for path in ["/users", "/events/query"] {
        let answer = workspace.api.get(path, 200).await;
        assert!(!answer.headers.contains_key(LIMIT), "{path}");
    }
}

#[tokio::test]
async fn a_workspace_sends_twenty_tests_a_minute_whatever_its_keys_and_channels() {
    let workspace = Workspace::new().await;
    let other = workspace.with_scopes("campaigns:send").await;
    let forbidden = workspace.with_scopes("campaigns:read").await;
    let campaign = uuid::Uuid::new_v4();
    let path = |channel: &str| format!("/campaigns/{campaign}/send-test-{channel}");
    let body = json!({"userId": "ann"});
    for (at, channel) in ["email", "sms", "push", "whatsapp", "in-app"].repeat(4).iter().enumerate()
    {
        let api = if at % 2 == 0 { &workspace.api } else { &other };
        let answer = api.post(&path(channel), &body, 404).await;
        assert_eq!(answer.headers[LIMIT], "20");
        assert_eq!(answer.headers["ratelimit-policy"], "\"test_sends\";q=20;w=60");
        assert_eq!(answer.headers[REMAINING], (19 - at).to_string().as_str());
        forbidden.post(&path(channel), &body, 403).await;
    }
    let refused = other.post(&path("email"), &body, 429).await;
    assert_eq!(refused.headers[REMAINING], "0");
    let wait: u32 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    Workspace::new().await.api.post(&path("email"), &body, 404).await;
    let campaigns = workspace.api.get("/campaigns", 200).await;
    assert_eq!(campaigns.headers[LIMIT], "500", "nothing else waits for it");
}
