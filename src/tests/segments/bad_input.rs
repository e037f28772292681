//! Every field of a segment at its limit, one past it, and of every wrong type.

use serde_json::{Value, json};

use super::{all, create, in_segment, path, plan, put};
use crate::kit::Workspace;

/// The errors of the same body for a new segment and for a change; nothing is applied.
async fn refused(workspace: &Workspace, segment: &Value, body: &Value) -> Vec<String> {
    let errors = workspace.api.post("/segments", body, 400).await.errors();
    let changed = put(&workspace.api, &path(segment), body, 400).await;
    assert_eq!(changed["errors"], json!(errors), "{body}");
    assert_eq!(workspace.api.get(path(segment), 200).await.json(), *segment, "{body}");
    errors
}

#[tokio::test]
async fn fields_are_accepted_at_the_limit_and_refused_beyond() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let longest = json!({
        "name": "ä".repeat(255), "description": "ö".repeat(1000), "targeting": {},
    });
    let segment = workspace.api.post("/segments", &longest, 201).await.json();
    let theirs = create(&other, "Theirs", &json!({})).await;
    let filter = |filter: Value| json!({"name": "n", "targeting": all(&[filter])});
    let unknown = "must be the id of a segment of this workspace";
    let first = "targeting.filterGroups[0].filters[0]";
    for (body, error) in [
        (
            json!({"name": "a".repeat(256), "targeting": {}}),
            "name must be at most 255 characters".to_owned(),
        ),
        (json!({"name": "", "targeting": {}}), "name must not be empty".to_owned()),
        (json!({"name": " \t ", "targeting": {}}), "name must not be empty".to_owned()),
        (
            json!({"name": "a\0b", "targeting": {}}),
            "name must not contain NUL characters".to_owned(),
        ),
        (
            json!({"name": "n", "targeting": {}, "description": "a".repeat(1001)}),
            "description must be at most 1000 characters".to_owned(),
        ),
        (
            json!({"name": "n", "targeting": {"userIds": []}}),
            "targeting.userIds must have at least 1 element; leave it out to mean everyone"
                .to_owned(),
        ),
        (
            json!({"name": "n", "targeting": {"filterGroups": [{"filters": []}]}}),
            "targeting.filterGroups[0].filters must not be empty".to_owned(),
        ),
        (filter(in_segment(&theirs, "member")), format!("{first}.field {unknown}")),
        (
            filter(json!({"type": "segment", "field": "vips", "operator": "member"})),
            format!("{first}.field {unknown}"),
        ),
        (
            filter(json!({
                "type": "segment", "value": "00000000-0000-7000-8000-00000000dead", "operator": "not_member",
            })),
            format!("{first}.value {unknown}"),
        ),
        (
            json!({"name": "n", "targeting": {"excludeFilterGroups": [
                {"filters": [plan("pro")]},
                {"filters": [plan("pro"), in_segment(&theirs, "member")]},
            ]}}),
            format!("targeting.excludeFilterGroups[1].filters[1].field {unknown}"),
        ),
    ] {
        assert_eq!(refused(&workspace, &segment, &body).await, [error], "{body}");
    }
}

#[tokio::test]
async fn wrong_types_and_missing_fields_are_named() {
    let workspace = Workspace::new().await;
    let segment = create(&workspace, "News", &json!({})).await;
    for wrong in [json!(7), json!([[1]]), json!(true)] {
        let body = json!({"name": wrong, "description": wrong, "targeting": wrong});
        let errors = refused(&workspace, &segment, &body).await;
        let named: Vec<&str> =
            errors.iter().map(|error| error.split([' ', '[']).next().unwrap()).collect();
        assert_eq!(named, ["name", "description", "targeting"], "{errors:?}");
    }
    let errors = workspace.api.post("/segments", &json!({}), 400).await.errors();
    assert_eq!(errors, ["name is required", "targeting is required"]);
    for body in ["", "[]", "7", "nonsense", &"[".repeat(10_000)] {
        workspace.api.post_bytes("/segments", body, 400).await;
    }
    for id in ["x", "00000000-0000-7000-8000-00000000dead", "%00"] {
        workspace.api.get(format!("/segments/{id}"), 404).await;
        workspace.api.get(format!("/segments/{id}/members"), 404).await;
    }
}
