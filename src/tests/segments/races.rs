//! Changes of segments at the same time.

use reqwest::Method;
use serde_json::{Value, json};

use super::{all, create, in_segment, path};
use crate::{
    campaigns::{email, id, made},
    kit::{Client, Workspace},
};

/// Pairs of requests; each pair has the chance to meet.
const PAIRS: usize = 15;

async fn status(client: &Client, method: Method, path: &str, body: Value) -> u16 {
    let request = client.request(method, path);
    let request = if body.is_null() { request } else { request.json(&body) };
    let status = request.send().await.unwrap().status().as_u16();
    assert!(status < 500, "{path}: {status}");
    status
}

#[tokio::test]
async fn two_changes_never_make_a_cycle_together() {
    let workspace = Workspace::new().await;
    for n in 0..PAIRS {
        let a = create(&workspace, &format!("A{n}"), &json!({})).await;
        let b = create(&workspace, &format!("B{n}"), &json!({})).await;
        let using = |segment: &Value| json!({"targeting": all(&[in_segment(segment, "member")])});
        let (paths, bodies) = ([path(&a), path(&b)], [using(&b), using(&a)]);
        let [first, second] = bodies;
        let statuses = tokio::join!(
            status(&workspace.api, Method::PUT, &paths[0], first),
            status(&workspace.api, Method::PUT, &paths[1], second),
        );
        assert!([(200, 400), (400, 200)].contains(&statuses), "{statuses:?}");
        for segment in [&a, &b] {
            workspace.api.get(path(segment), 200).await;
        }
    }
}

#[tokio::test]
async fn a_segment_is_not_deleted_while_another_begins_to_use_it() {
    let workspace = Workspace::new().await;
    for n in 0..PAIRS {
        let used = create(&workspace, &format!("Used{n}"), &json!({})).await;
        let user =
            json!({"name": format!("User{n}"), "targeting": all(&[in_segment(&used, "member")])});
        let used_path = path(&used);
        let statuses = tokio::join!(
            status(&workspace.api, Method::DELETE, &used_path, Value::Null),
            status(&workspace.api, Method::POST, "/segments", user),
        );
        assert!([(204, 400), (409, 201)].contains(&statuses), "{statuses:?}");
    }
}

#[tokio::test]
async fn no_campaign_is_live_without_its_segment() {
    let workspace = Workspace::new().await;
    for n in 0..PAIRS {
        let used = create(&workspace, &format!("Used{n}"), &json!({})).await;
        let campaign = made(&workspace.api, &email("News")).await;
        let campaign_path = format!("/campaigns/{}", id(&campaign));
        let launched = async {
            let targeting = json!({"targeting": all(&[in_segment(&used, "not_member")])});
            status(&workspace.api, Method::PUT, &campaign_path, targeting).await;
            let send = format!("{campaign_path}/send");
            status(&workspace.api, Method::POST, &send, Value::Null).await
        };
        let (used_path, nothing) = (path(&used), Value::Null);
        let deleted = status(&workspace.api, Method::DELETE, &used_path, nothing);
        let statuses = tokio::join!(deleted, launched);
        assert!([(204, 400), (409, 200)].contains(&statuses), "{statuses:?}");
    }
}

#[tokio::test]
async fn no_insight_is_saved_without_its_segment() {
    let workspace = Workspace::new().await;
    for n in 0..PAIRS {
        let used = create(&workspace, &format!("Used{n}"), &json!({})).await;
        let question = |people: Value| json!({"series": [{"eventName": "A"}], "last": {"amount": 7, "unit": "days"}, "people": people});
        let body =
            |people: Value| json!({"name": "A", "kind": "trends", "question": question(people)});
        let used_path = path(&used);
        let deleted = status(&workspace.api, Method::DELETE, &used_path, Value::Null);
        let member = json!({"segmentId": used["id"]});
        let statuses = if n % 2 == 0 {
            tokio::join!(deleted, status(&workspace.api, Method::POST, "/insights", body(member)))
        } else {
            let saved = workspace.api.post("/insights", &body(json!({})), 201).await.json();
            let saved_path = format!("/insights/{}", id(&saved));
            let changed = json!({"question": question(all(&[in_segment(&used, "not_member")]))});
            let changed = status(&workspace.api, Method::PUT, &saved_path, changed);
            let statuses = tokio::join!(deleted, changed);
            (statuses.0, if statuses.1 == 200 { 201 } else { statuses.1 })
        };
        assert!([(204, 400), (409, 201)].contains(&statuses), "{statuses:?}");
    }
}

#[tokio::test]
async fn one_of_many_takes_a_name() {
    let workspace = Workspace::new().await;
    let body = || json!({"name": "VIP", "targeting": {}});
    let post = || status(&workspace.api, Method::POST, "/segments", body());
    let statuses = tokio::join!(post(), post(), post(), post());
    let mut statuses = [statuses.0, statuses.1, statuses.2, statuses.3];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409]);
}
