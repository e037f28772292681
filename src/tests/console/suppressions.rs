//! `/console/suppressions`: searching, adding, removing and importing rows.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::kit::Person;
use crate::kit::Workspace;

async fn rows(workspace: &Workspace, channel: &str) -> Value {
    workspace.api.get(format!("/suppressions?channel={channel}"), 200).await.json()
}

#[tokio::test]
async fn a_row_is_added_found_and_removed() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let person = Person::signed_in(&workspace, "*").await;
    let seen = person.get("/console/suppressions").await;
    assert!(seen.text.contains("No suppressions"), "{}", seen.text);
    let fields =
        [("channel", "email"), ("newIdentifier", " Ann@Example.test"), ("newReason", "manual")];
    let seen = person.post("/console/suppressions", &fields).await;
    assert_eq!(
        (seen.status.as_u16(), seen.location()),
        (303, "/console/suppressions?channel=email")
    );
    let fields = [
        ("channel", "email"),
        ("newIdentifier", "gone@example.test"),
        ("newReason", "hard_bounce"),
    ];
    assert_eq!(person.post("/console/suppressions", &fields).await.status, 303);
    assert_eq!(rows(&workspace, "email").await["items"][0]["reason"], "hard_bounce");
    let seen = person.get("/console/suppressions?channel=email&reason=manual").await;
    assert!(
        seen.text.contains(">ann@example.test</a>")
            && !seen.text.contains(">gone@example.test</a>"),
        "{}",
        seen.text
    );

    // The search has the row, and the person with that address.
    let found = "/console/suppressions?channel=email&identifier=ann%40example.test";
    let seen = person.get(found).await;
    let history = format!("/console/people/{}?tab=consent", ann["id"].as_str().unwrap());
    for text in ["added by hand", "Remove…", history.as_str()] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    let seen =
        person.get("/console/suppressions?channel=email&identifier=other%40example.test").await;
    assert!(seen.text.contains("Not suppressed"), "{}", seen.text);
    let seen = person.get("/console/suppressions?channel=email&identifier=nonsense").await;
    assert!(
        seen.text.contains("role=\"alert\"") && seen.text.contains("value=\"nonsense\""),
        "{}",
        seen.text
    );
    let remove = "/console/suppressions/remove?channel=email&identifier=ann%40example.test";
    assert_eq!(person.post(remove, &[("confirm", "other")]).await.status, 400);
    assert_eq!(rows(&workspace, "email").await["total"], 2);
    assert_eq!(person.post(remove, &[("confirm", "ann@example.test")]).await.status, 303);
    assert_eq!(rows(&workspace, "email").await["total"], 1);
}

#[tokio::test]
async fn thousands_of_lines_are_imported_and_counted() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let mut lines = "identifier,reason\n".to_owned();
    for number in 0..5_001 {
        writeln!(lines, "a{number}@example.test,unsubscribe").unwrap();
    }
    lines.push_str("nonsense\na0@example.test,unsubscribe\n");
    let fields = [("channel", "email"), ("entries", lines.as_str())];
    let seen = person.post("/console/suppressions/import", &fields).await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    for text in ["5,003", "5,001"] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    let stored = rows(&workspace, "email").await;
    assert_eq!(
        (&stored["total"], &stored["items"][0]["reason"]),
        (&json!(5_001), &json!("unsubscribe"))
    );
    let seen = person
        .post("/console/suppressions/import", &[("channel", "sms"), ("entries", " \n")])
        .await;
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains("id=\"entries-fault\""), "{}", seen.text);
}

#[tokio::test]
async fn faults_scopes_and_csrf_hold_by_channel() {
    let workspace = Workspace::new().await;
    let person =
        Person::signed_in(&workspace, "email_suppression:read,email_suppression:write").await;
    let fields =
        [("channel", "email"), ("newIdentifier", "<b>\"no address"), ("newReason", "unsubscribe")];
    let seen = person.post("/console/suppressions", &fields).await;
    assert_eq!(seen.status, 400);
    for text in [
        "id=\"newIdentifier-fault\"",
        "value=\"&lt;b&gt;&quot;no address\"",
        "value=\"unsubscribe\" selected",
    ] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    assert_eq!(person.post_bare("/console/suppressions", &fields).await.status, 403);
    let seen = person.get("/console/suppressions?channel=sms").await;
    assert!(
        seen.text.contains("sms_suppression:read") && !seen.text.contains("newIdentifier"),
        "{}",
        seen.text
    );
    let fields = [("channel", "sms"), ("newIdentifier", "+4915112345678"), ("newReason", "manual")];
    assert_eq!(person.post("/console/suppressions", &fields).await.status, 403);
    assert_eq!(rows(&workspace, "sms").await["total"], 0);
    // A session for numbers alone begins with them.
    let numbers = Person::signed_in(&workspace, "sms_suppression:read").await;
    let seen = numbers.get("/console/suppressions").await;
    assert!(seen.text.contains("aria-current=\"page\">sms"), "{}", seen.text);
    assert_eq!(numbers.get("/console/suppressions/import").await.status, 403);
    assert_eq!(numbers.get("/console/suppressions?channel=post").await.status, 404);
    let none = Person::signed_in(&workspace, "users:read").await;
    assert_eq!(none.get("/console/suppressions").await.status, 403);
}
