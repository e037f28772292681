//! Which routes are limited, and that a bucket is a credential's own.

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
