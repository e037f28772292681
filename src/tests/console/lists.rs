//! `/console/lists`: making, changing and archiving lists, and their members.

use serde_json::json;

use super::kit::Person;
use crate::kit::Workspace;

#[tokio::test]
async fn a_list_is_made_filled_changed_archived_and_restored() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let person = Person::signed_in(&workspace, "*").await;
    let fields =
        [("name", "News"), ("channels", "email"), ("channels", "sms"), ("type", "marketing")];
    let seen = person.post("/console/lists", &fields).await;
    assert_eq!(seen.status, 303, "{}", seen.text);
    let address = seen.location().to_owned();
    let id = address.rsplit('/').next().unwrap();
    let list = workspace.api.get(format!("/lists/{id}"), 200).await.json();
    assert_eq!(list["channels"], json!(["email", "sms"]));
    assert_eq!((&list["isPublic"], &list["requireDoubleOptIn"]), (&json!(false), &json!(false)));
    let seen = person.get(&address).await;
    assert!(
        seen.text.contains("News was made.") && seen.text.contains("No members"),
        "{}",
        seen.text
    );

    // By your own id, and by one that is unknown.
    let members = format!("{address}/members");
    let fields = [("people", "ann"), ("onChannel", "email"), ("do", "add")];
    assert_eq!(person.post(&members, &fields).await.status, 303);
    let seen = person.get(&format!("{address}?channel=email&status=subscribed")).await;
    assert!(
        seen.text.contains("1 added") && seen.text.contains(ann["id"].as_str().unwrap()),
        "{}",
        seen.text
    );
    let fields = [("people", "ann\nunknown-person"), ("onChannel", "email"), ("do", "add")];
    let seen = person.post(&members, &fields).await;
    assert_eq!(seen.status, 400);
    for text in
        ["id=\"people-fault\"", "no profile has the id unknown-person", "ann\nunknown-person"]
    {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    let fields =
        [("people", ann["id"].as_str().unwrap()), ("onChannel", "email"), ("do", "remove")];
    assert_eq!(person.post(&members, &fields).await.status, 303);
    let stats = workspace.api.get(format!("/lists/{id}/stats"), 200).await.json();
    assert_eq!((&stats["subscribed"], &stats["unsubscribed"]), (&json!(0), &json!(1)));

    let fields =
        [("name", "Weekly"), ("channels", "email"), ("type", "marketing"), ("isPublic", "yes")];
    assert_eq!(person.post(&address, &fields).await.status, 303);
    let list = workspace.api.get(format!("/lists/{id}"), 200).await.json();
    assert_eq!((&list["name"], &list["isPublic"]), (&json!("Weekly"), &json!(true)));

    let archive = format!("{address}/archive");
    assert_eq!(person.post(&archive, &[("confirm", "News")]).await.status, 400);
    assert_eq!(person.post(&archive, &[("confirm", "Weekly")]).await.status, 303);
    workspace.api.get(format!("/lists/{id}"), 404).await;
    assert!(person.get(&address).await.text.contains("archived"));
    assert!(!person.get("/console/lists").await.text.contains(&address));
    assert!(person.get("/console/lists?archived=yes").await.text.contains(&address));
    assert_eq!(person.post(&format!("{address}/restore"), &[]).await.status, 303);
    workspace.api.get(format!("/lists/{id}"), 200).await;
}

#[tokio::test]
async fn faults_scopes_csrf_and_hostile_names_hold() {
    let workspace = Workspace::new().await;
    let hostile = format!("<script>alert(1)</script>\"' שלום {}", "n".repeat(200));
    let body = json!({"name": hostile, "description": hostile});
    let list = workspace.api.post("/lists", &body, 201).await.json();
    let address = format!("/console/lists/{}", list["id"].as_str().unwrap());
    let all = Person::signed_in(&workspace, "*").await;
    for path in ["/console/lists", &address, &format!("{address}?tab=settings")] {
        let seen = all.get(path).await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.text);
        assert!(!seen.text.contains("<script>"), "{path}: {}", seen.text);
    }
    // No channel, and a name that is taken.
    let seen = all.post("/console/lists", &[("name", "Kept"), ("type", "marketing")]).await;
    assert_eq!(seen.status, 400);
    assert!(
        seen.text.contains("value=\"Kept\"") && seen.text.contains("class=\"fault\""),
        "{}",
        seen.text
    );
    let fields = [("name", hostile.as_str()), ("channels", "email"), ("type", "marketing")];
    assert_eq!(all.post("/console/lists", &fields).await.status, 409);
    assert_eq!(all.post_bare("/console/lists", &fields).await.status, 403);
    let reader = Person::signed_in(&workspace, "settings:read").await;
    let seen = reader.get(&address).await;
    assert!(
        seen.text.contains("compliance:read") && !seen.text.contains("/archive"),
        "{}",
        seen.text
    );
    assert_eq!(reader.post("/console/lists", &fields).await.status, 403);
    // An id that no address can have.
    let long = "x".repeat(70_000);
    let fields = [("people", long.as_str()), ("onChannel", "email"), ("do", "add")];
    let seen = all.post(&format!("{address}/members"), &fields).await;
    assert_eq!(seen.status, 400, "{}", seen.between("<h1>", "</h1>"));
    assert!(seen.text.contains("id=\"people-fault\"") && seen.text.contains(&long));
    let other = Person::signed_in(&workspace, "users:read").await;
    assert_eq!(other.get("/console/lists").await.status, 403);
    assert_eq!(all.get("/console/lists/none").await.status, 404);
}
