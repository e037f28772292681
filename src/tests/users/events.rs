//! `GET /users/:userId/events`: a profile's events under any of its ids.

use serde_json::{Value, json};

use crate::kit::{Workspace, eventually, server};

const INTERNAL: &str = "0123456789abcdef01234567";

/// A profile with an internal id that is known before, which only the table itself takes.
async fn profile(workspace: &Workspace, internal: &str, external: Option<&str>, deleted: bool) {
    let db = server().db();
    let (id, workspace) = (hex::decode(internal).unwrap(), workspace.id.uuid());
    let external = external.map(str::to_owned);
    server()
        .on(async move {
            sqlx::query(
                "insert into users (workspace_id, id, external_id, created_at, updated_at, deleted_at, deleted_by, deleted_via)
                 values ($1, $2, $3, now(), now(),
                     case when $4 then now() end, case when $4 then 'test' end, case when $4 then 'api' end)",
            )
            .bind(workspace)
            .bind(id)
            .bind(external)
            .bind(deleted)
            .execute(&db)
            .await
            .unwrap();
        })
        .await;
}

async fn page(workspace: &Workspace, query: &str) -> Value {
    workspace.api.get(format!("/users/{INTERNAL}/events{query}"), 200).await.json()
}

async fn six_events() -> Workspace {
    let workspace = Workspace::new().await;
    profile(&workspace, INTERNAL, Some("ann"), false).await;
    let batch = json!([
        {"userId": "ann", "eventName": "A", "clientEventId": "e0", "timestamp": "2026-03-01T12:00:00Z", "sessionId": "s1"},
        {"userId": "ann", "eventName": "B", "clientEventId": "e1", "timestamp": "2026-03-01T12:00:30Z", "sessionId": "s1"},
        {"serviceUserId": INTERNAL, "eventName": "A", "clientEventId": "e2", "timestamp": "2026-03-01T12:01:00Z", "sessionId": "s2"},
        {"userId": INTERNAL, "eventName": "A", "clientEventId": "e3", "timestamp": "2026-03-01T12:02:00Z"},
        {"userId": "ann", "serviceUserId": INTERNAL, "eventName": "B", "clientEventId": "e4", "timestamp": "2026-03-01T12:03:00Z", "sessionId": "s1"},
        {"userId": "bob", "eventName": "A", "clientEventId": "not-ann", "timestamp": "2026-03-01T12:04:00Z"},
    ]);
    workspace.api.post("/events/track", &batch, 200).await;
    eventually("the events are visible", || async {
        (page(&workspace, "").await["total"] == 5).then_some(())
    })
    .await;
    workspace
}

fn ids(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|e| e["event_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_profiles_events_include_all_its_ids_newest_first() {
    let workspace = six_events().await;
    let answer = page(&workspace, "").await;
    assert_eq!(ids(&answer), ["e4", "e3", "e2", "e1", "e0"]);
    assert_eq!((&answer["limit"], &answer["offset"]), (&json!(50), &json!(0)));
    assert!(answer.get("sessions").is_none());
    assert_eq!(
        answer["data"][4],
        json!({"event_id": "e0", "event_name": "A", "properties": {}, "timestamp": "2026-03-01 12:00:00"})
    );
    // The same person in /events/query, by either id.
    for id in ["ann", INTERNAL] {
        let events = workspace.api.get(format!("/events/query?userId={id}"), 200).await.json();
        assert_eq!(events.as_array().unwrap().len(), 5, "{id}");
    }
}

#[tokio::test]
async fn a_profiles_events_are_filtered_paged_and_counted() {
    let workspace = six_events().await;
    let answer = page(&workspace, "?limit=2&offset=1").await;
    assert_eq!((ids(&answer), answer["total"].clone()), (vec!["e3", "e2"], json!(5)));
    assert_eq!((&answer["limit"], &answer["offset"]), (&json!(2), &json!(1)));
    let answer = page(&workspace, "?eventName=B").await;
    assert_eq!((ids(&answer), answer["total"].clone()), (vec!["e4", "e1"], json!(2)));
    let answer =
        page(&workspace, "?startDate=2026-03-01T12:01:00Z&endDate=2026-03-01T12:02:00Z").await;
    assert_eq!(ids(&answer), ["e3", "e2"]);
    for (query, limit) in [("?limit=5000", 1000), ("?limit=x", 50), ("?limit=0", 50)] {
        assert_eq!(page(&workspace, query).await["limit"], limit, "{query}");
    }
}

#[tokio::test]
async fn a_profiles_events_include_sessions_on_request() {
    let workspace = six_events().await;
    let answer = page(&workspace, "?groupBySession=true").await;
    assert_eq!(ids(&answer).len(), 5);
    let sessions = answer["sessions"].as_array().unwrap();
    let shape: Vec<_> = sessions
        .iter()
        .map(|s| (s["sessionId"].clone(), s["eventCount"].clone(), s["durationSeconds"].clone()))
        .collect();
    assert_eq!(
        shape,
        [
            (json!("s1"), json!(3), json!(180)),
            (json!("s2"), json!(1), json!(0)),
            (Value::Null, json!(1), json!(0)),
        ]
    );
    assert_eq!(sessions[0]["startedAt"], "2026-03-01T12:00:00.000Z");
    assert_eq!(sessions[0]["endedAt"], "2026-03-01T12:03:00.000Z");
    assert_eq!(sessions[0]["events"][0]["event_id"], "e4");
    assert!(page(&workspace, "?groupBySession=false").await.get("sessions").is_none());
}

#[tokio::test]
async fn an_unknown_deleted_or_foreign_profile_is_404() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    profile(&other, INTERNAL, None, false).await;
    profile(&workspace, "aaaaaaaaaaaaaaaaaaaaaaaa", Some("gone"), true).await;
    for id in [INTERNAL, "aaaaaaaaaaaaaaaaaaaaaaaa", "ann", "0123", "zzzzzzzzzzzzzzzzzzzzzzzz"] {
        let answer = workspace.api.get(format!("/users/{id}/events"), 404).await.json();
        assert_eq!(answer["statusCode"], 404, "{id}");
    }
    other.api.get(format!("/users/{INTERNAL}/events"), 200).await;
    let no_scope = other.with_scopes("events:*").await;
    let answer = no_scope.get(format!("/users/{INTERNAL}/events"), 403).await.json();
    assert_eq!(answer["message"], "Missing required scope: users:read");
}

#[tokio::test]
async fn the_events_of_a_deleted_profile_are_still_found_by_either_id() {
    let workspace = six_events().await;
    super::delete(&workspace.api, &format!("/users/{INTERNAL}"), 204).await;
    let found = async |id: &str| {
        let events = workspace.api.get(format!("/events/query?userId={id}"), 200).await.json();
        events.as_array().unwrap().len()
    };
    assert_eq!((found("ann").await, found(INTERNAL).await), (5, 5));
    // Its external id goes to a new profile; what was tracked under it goes along.
    workspace.api.post("/users", &json!({"externalId": "ann"}), 201).await;
    assert_eq!((found("ann").await, found(INTERNAL).await), (3, 3));
}
