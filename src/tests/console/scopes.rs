//! Every page against the scopes of its session, and addresses that cannot be read.

use web::auth::ScopeName;

use super::kit::Person;
use crate::kit::Workspace;

const ID: &str = "01a21e54-76bc-7bb9-b558-4d79d959eb06";
/// Addresses, and the scope that each needs; those of forms too.
const PAGES: &[(&str, &str)] = &[
    ("/console/live", "events:read"),
    ("/console/live/stream", "events:read"),
    ("/console/live/import", "events:write"),
    ("/console/explore", "events:read"),
    ("/console/explore?tab=funnels", "events:read"),
    ("/console/explore?tab=sql", "analytics:sql"),
    ("/console/explore/csv?event=A", "events:read"),
    ("/console/people", "users:read"),
    ("/console/people/ann", "users:read"),
    ("/console/privacy", "users:delete"),
    ("/console/privacy/requests", "users:delete"),
    ("/console/privacy/ID/download", "users:delete"),
    ("/console/segments", "users:read"),
    ("/console/segments/new", "users:write"),
    ("/console/segments/ID", "users:read"),
    ("/console/lists", "settings:read"),
    ("/console/lists/ID", "settings:read"),
    ("/console/campaigns", "campaigns:read"),
    ("/console/campaigns/new", "campaigns:write"),
    ("/console/campaigns/ID", "campaigns:read"),
    ("/console/campaigns/ID/launch", "campaigns:read"),
    ("/console/campaigns/ID/test", "campaigns:read"),
    ("/console/campaigns/ID/message", "campaigns:read"),
    ("/console/campaigns/ID/clicks", "campaigns:read"),
    ("/console/campaigns/ID/versions", "campaigns:read"),
    ("/console/campaigns/ID/progress", "campaigns:read"),
    ("/console/campaigns/ID/recipients", "campaigns:read"),
    ("/console/campaigns/ID/report", "campaigns:read"),
    ("/console/campaigns/ID/csv/stats", "campaigns:read"),
    ("/console/suppressions", "suppression:read"),
    ("/console/suppressions/import", "suppression:write"),
    ("/console/health", "settings:read"),
    ("/console/health/panels", "settings:read"),
    ("/console/health/dead-letters", "settings:read"),
    ("/console/settings", "settings:read"),
    ("/console/settings/keys", "settings:read"),
    ("/console/settings/channels", "settings:read"),
    ("/console/settings/domains", "settings:read"),
    ("/console/settings/members", "settings:read"),
    ("/console/settings/audit", "settings:read"),
];

/// Every scope but one; a suppression's is that of any channel.
fn without(scope: &str) -> String {
    let names = ScopeName::ALL.iter().map(|name| name.as_str());
    names.filter(|name| !name.ends_with(scope)).collect::<Vec<_>>().join(",")
}

#[tokio::test]
async fn a_page_without_its_scope_names_it() {
    let workspace = Workspace::new().await;
    for (path, scope) in PAGES {
        let person = Person::signed_in(&workspace, &without(scope)).await;
        let seen = person.get(&path.replace("ID", ID)).await;
        assert_eq!(seen.status, 403, "{path} without {scope}: {}", seen.text);
        assert!(seen.text.contains("does not have the scope"), "{path}: {}", seen.text);
        assert!(seen.text.contains(scope), "{path} without {scope}: {}", seen.text);
    }
    let nothing = Person::signed_in(&workspace, "campaigns:delete").await;
    assert_eq!(nothing.get("/console").await.status, 200);
}

#[tokio::test]
async fn an_address_that_cannot_be_read_is_a_page_that_names_the_field() {
    let person = Person::signed_in(&Workspace::new().await, "*").await;
    for (path, field) in [
        ("/console/privacy?offset=abc", "offset"),
        ("/console/health/dead-letters?offset=-1", "offset"),
        ("/console/campaigns?page=x", "page"),
        ("/console/people/ann?skip=1e3", "skip"),
        ("/console/settings/audit?offset=x", "offset"),
    ] {
        let seen = person.get(path).await;
        assert_eq!(seen.status, 400, "{path}: {}", seen.text);
        let text = format!("The address cannot be read: {field}: ");
        assert!(seen.text.contains(&text) && seen.text.contains("<nav"), "{path}: {}", seen.text);
    }
}
