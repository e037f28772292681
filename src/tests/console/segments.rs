//! `/console/segments`: the form that builds a targeting, members, and deleting.

use reqwest::Method;
use serde_json::{Value, json};

use super::kit::{Person, Seen};
use crate::{
    kit::{Workspace, eventually},
    stats::fixture::campaign,
};

/// A row of the form: one filter on an attribute.
const PLAN: [(&str, &str); 5] = [
    ("g0.join", "AND"),
    ("g0.r0.type", "attribute"),
    ("g0.r0.field", "plan"),
    ("g0.r0.operator", "equals"),
    ("g0.r0.value", "pro"),
];

async fn workspace_with_people() -> Workspace {
    let workspace = Workspace::new().await;
    for (name, plan) in [("ann", "pro"), ("bob", "pro"), ("cy", "free")] {
        let body = json!({"externalId": name, "email": format!("{name}@example.test"), "attributes": {"plan": plan}});
        workspace.api.post("/users", &body, 201).await;
    }
    workspace
}

async fn saved(workspace: &Workspace, name: &str) -> Value {
    let page = workspace.api.get("/segments", 200).await.json();
    let found = page["data"].as_array().unwrap().iter().find(|it| it["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {page}")).clone()
}

fn has(seen: &Seen, texts: &[&str]) {
    for text in texts {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
}

#[tokio::test]
async fn a_segment_is_built_saved_changed_and_deleted() {
    let workspace = workspace_with_people().await;
    let person = Person::signed_in(&workspace, "*").await;
    has(&person.get("/console/segments").await, &["No segments yet", "/console/segments/new"]);
    has(&person.get("/console/segments/new").await, &["when every filter is complete"]);

    // A button changes the form and saves nothing; what was typed stays.
    let fields = [&PLAN[..], &[("name", "Paying"), ("do", "add-row 0")]].concat();
    let seen = person.post("/console/segments", &fields).await;
    assert_eq!(seen.status, 200);
    has(&seen, &["value=\"Paying\"", "value=\"pro\"", "name=\"g0.r1.type\""]);
    assert_eq!(workspace.api.get("/segments", 200).await.json()["pagination"]["total"], 0);
    let fields = [&PLAN[..], &[("name", "Paying")]].concat();
    has(
        &person.post("/console/segments/count", &fields).await,
        &["<strong>2</strong>", "ann", "bob"],
    );

    let fields = [&PLAN[..], &[("name", "Paying"), ("do", "save")]].concat();
    let seen = person.post("/console/segments", &fields).await;
    assert_eq!(seen.status, 303, "{}", seen.text);
    let segment = saved(&workspace, "Paying").await;
    let filter =
        json!({"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"});
    assert_eq!(segment["targeting"], json!({"filterGroups": [{"filters": [filter]}]}));
    let address = format!("/console/segments/{}", segment["id"].as_str().unwrap());
    assert_eq!(seen.location(), address);
    has(&person.get(&address).await, &["value=\"plan\"", "Paying was saved.", "part=size"]);
    has(&person.get(&format!("{address}?part=size")).await, &["Members", "By email"]);
    let members = person.get(&format!("{address}?tab=members&part=tab")).await;
    has(&members, &["2 people", "ann@example.test", "bob@example.test"]);
    assert!(!members.text.contains("cy@example.test"), "{}", members.text);

    // As JSON, which holds what rows cannot.
    let targeting = r#"{"userIds": ["cy"]}"#;
    let fields = [("name", "Only Cy"), ("targeting", targeting), ("do", "save")];
    assert_eq!(person.post(&address, &fields).await.status, 303);
    let shown = person.get(&address).await;
    has(&shown, &["<textarea id=\"targeting\"", "Only Cy"]);
    let fields = [("name", "Only Cy"), ("targeting", targeting), ("do", "to-rows")];
    has(&person.post(&address, &fields).await, &["what rows cannot show"]);

    let refused = person.post(&format!("{address}/delete"), &[("confirm", "Paying")]).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    let seen = person.post(&format!("{address}/delete"), &[("confirm", "Only Cy")]).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, "/console/segments"));
    assert_eq!(person.get(&address).await.status, 404);
}

#[tokio::test]
async fn what_uses_a_segment_is_named_when_it_is_deleted() {
    let workspace = workspace_with_people().await;
    let person = Person::signed_in(&workspace, "*").await;
    let body = json!({"name": "Inner", "targeting": {}});
    let inner = workspace.api.post("/segments", &body, 201).await.json();
    let id = inner["id"].as_str().unwrap();
    let filter = json!({"type": "segment", "field": id, "operator": "member"});
    let body = json!({"name": "Outer", "targeting": {"filterGroups": [{"filters": [filter]}]}});
    let outer = workspace.api.post("/segments", &body, 201).await.json();
    let seen =
        person.post(&format!("/console/segments/{id}/delete"), &[("confirm", "Inner")]).await;
    assert_eq!(seen.status, 409);
    has(&seen, &["role=\"alert\"", "Outer"]);
    // Its row chooses the other by name.
    let address = format!("/console/segments/{}", outer["id"].as_str().unwrap());
    has(&person.get(&address).await, &[&format!("<option value=\"{id}\" selected>Inner")]);
    let path = format!(
        "/console/segments/{id}?tab=overlap&part=tab&with={}",
        outer["id"].as_str().unwrap()
    );
    has(&person.get(&path).await, &["Both", "Only "]);
}

#[tokio::test]
async fn faults_stand_at_their_rows_and_fields() {
    let workspace = workspace_with_people().await;
    let person = Person::signed_in(&workspace, "*").await;
    let fields = [
        &PLAN[..4],
        &[("name", ""), ("g0.r0.value", ""), ("g0.r1.type", "event"), ("g0.r1.field", "")],
        &[("g0.r1.operator", "performed"), ("g0.r1.times", "many"), ("do", "save")],
    ]
    .concat();
    let seen = person.post("/console/segments", &fields).await;
    assert_eq!(seen.status, 400);
    has(
        &seen,
        &[
            "id=\"name-fault\"",
            "id=\"g0.r0.value-fault\"",
            "id=\"g0.r1.field-fault\"",
            "value=\"many\"",
        ],
    );
    // JSON that is none.
    let fields = [("name", "x"), ("targeting", "{\"filterGroups\": ["), ("do", "save")];
    let seen = person.post("/console/segments", &fields).await;
    assert_eq!(seen.status, 400);
    has(&seen, &["id=\"targeting-fault\"", "is not valid JSON", "{&quot;filterGroups&quot;: ["]);
    // A name that is taken.
    workspace.api.post("/segments", &json!({"name": "Taken", "targeting": {}}), 201).await;
    let fields = [&PLAN[..], &[("name", "taken"), ("do", "save")]].concat();
    let seen = person.post("/console/segments", &fields).await;
    assert_eq!(seen.status, 409);
    has(&seen, &["role=\"alert\"", "value=\"taken\"", "value=\"pro\""]);
}

#[tokio::test]
async fn scopes_csrf_and_hostile_names_hold() {
    let workspace = workspace_with_people().await;
    let hostile = format!("<img src=x onerror=alert(1)>\"' مرحبا {}", "n".repeat(200));
    let body = json!({"name": hostile, "description": hostile, "targeting": {"filterGroups": [{"filters": [
        {"type": "attribute", "field": "<b>\"", "operator": "equals", "value": "</textarea><script>"}]}]}});
    let segment = workspace.api.post("/segments", &body, 201).await.json();
    let address = format!("/console/segments/{}", segment["id"].as_str().unwrap());
    let reader = Person::signed_in(&workspace, "users:read").await;
    for path in ["/console/segments", &address, &format!("{address}?tab=members&part=tab")] {
        let seen = reader.get(path).await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.text);
        assert!(
            !seen.text.contains("<img") && !seen.text.contains("</textarea><script>"),
            "{path}"
        );
        assert!(!seen.text.contains("/delete\""), "no button without its scope: {path}");
    }
    let all = Person::signed_in(&workspace, "*").await;
    let seen = all.get(&address).await;
    assert!(!seen.text.contains("<img") && !seen.text.contains("<script>"), "{}", seen.text);
    assert_eq!(
        reader.post(&format!("{address}/delete"), &[("confirm", &hostile)]).await.status,
        403
    );
    assert_eq!(
        all.post_bare("/console/segments", &[("name", "x"), ("do", "save")]).await.status,
        403
    );
    let other = Person::signed_in(&workspace, "events:read").await;
    let seen = other.get("/console/segments").await;
    assert_eq!(seen.status, 403);
    assert!(seen.text.contains("users:read"), "{}", seen.text);
    assert_eq!(all.get("/console/segments/none").await.status, 404);
}

#[tokio::test]
async fn making_and_changing_need_the_scope_of_saving() {
    let workspace = workspace_with_people().await;
    let body = json!({"name": "Everyone", "targeting": {}});
    let segment = workspace.api.post("/segments", &body, 201).await.json();
    let address = format!("/console/segments/{}", segment["id"].as_str().unwrap());
    let reader = Person::signed_in(&workspace, "users:read").await;
    assert_eq!(reader.get(&address).await.status, 200);
    let mut answers = vec![reader.get("/console/segments/new").await];
    for action in ["save", "add-group"] {
        let fields = [&PLAN[..], &[("name", "Paying"), ("do", action)]].concat();
        answers.push(reader.post("/console/segments", &fields).await);
        answers.push(reader.post(&address, &fields).await);
    }
    for seen in answers {
        assert_eq!(seen.status, 403, "{}", seen.text);
        has(&seen, &["users:write"]);
    }
    let writer = Person::signed_in(&workspace, "users:read,users:write").await;
    assert_eq!(writer.get("/console/segments/new").await.status, 200);
}

/// The form with one row of a type, as a button shows it.
async fn row_of(person: &Person, [kind, operator, field]: [&str; 3]) -> Seen {
    let fields = [
        ("g0.r0.type", kind),
        ("g0.r0.operator", operator),
        ("g0.r0.field", field),
        ("do", "refresh"),
    ];
    let seen = person.post("/console/segments", &fields).await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    seen
}

#[tokio::test]
async fn events_and_campaigns_are_offered() {
    let workspace = Workspace::new().await;
    let campaign = campaign(&workspace, json!({"name": "Spring <b>"})).await;
    let event = json!({"userId": "ann", "eventName": "Tour \"Booked\""});
    workspace.api.post("/events/track", &event, 200).await;
    let person = Person::signed_in(&workspace, "*").await;
    eventually("the event is offered", || async {
        let seen = row_of(&person, ["event", "performed", ""]).await;
        let is_offered = seen.text.contains("<option value=\"Tour &quot;Booked&quot;\">");
        is_offered.then(|| has(&seen, &["<datalist id=\"known-events\">", "list=\"known-events\""]))
    })
    .await;
    let seen = row_of(&person, ["engagement", "sent", ""]).await;
    let option = format!("<option value=\"{campaign}\" label=\"Spring &lt;b&gt;\">");
    has(&seen, &[&option, "list=\"known-campaigns\""]);
    // A row of another type offers neither, nor does a session that may not read them.
    let seen = row_of(&person, ["attribute", "equals", "plan"]).await;
    assert!(!seen.text.contains("<datalist"), "{}", seen.text);
    let writer = Person::signed_in(&workspace, "users:read,users:write").await;
    for row in [["event", "performed", ""], ["engagement", "sent", ""]] {
        let seen = row_of(&writer, row).await;
        assert!(
            !seen.text.contains("<datalist") && !seen.text.contains("list=\""),
            "{}",
            seen.text
        );
    }
}

#[tokio::test]
async fn lists_are_chosen_by_name() {
    let workspace = Workspace::new().await;
    let mut ids = Vec::new();
    for name in ["News", "Old", "Older"] {
        let list = workspace.api.post("/lists", &json!({"name": name}), 201).await.json();
        ids.push(list["id"].as_str().unwrap().to_owned());
    }
    for id in &ids[1..] {
        let archive = workspace.api.request(Method::DELETE, &format!("/lists/{id}"));
        workspace.api.send(archive, 204).await;
    }
    let person = Person::signed_in(&workspace, "*").await;
    // What is archived is named where it is chosen, and is no choice otherwise.
    let seen = row_of(&person, ["list", "member", &ids[1]]).await;
    has(
        &seen,
        &[
            &format!("<option value=\"{}\">News</option>", ids[0]),
            &format!("<option value=\"{}\" selected>Old (archived)</option>", ids[1]),
        ],
    );
    assert!(!seen.text.contains("Older"), "{}", seen.text);
    // Without the scope for names an id is typed, and kept.
    let writer = Person::signed_in(&workspace, "users:read,users:write").await;
    let seen = row_of(&writer, ["list", "member", &ids[0]]).await;
    has(&seen, &["settings:read", &format!("value=\"{}\"", ids[0])]);
    assert!(!seen.text.contains("News"), "{}", seen.text);
}
