//! Isolation of workspaces, and scopes of lists.

use reqwest::Method;
use serde_json::{Value, json};

use super::lifecycle::create;
use crate::kit::{Client, Workspace};

/// Every endpoint of a list: method, path after the id, a body, and the scope it needs.
const ENDPOINTS: &[(&str, &str, &str)] = &[
    ("GET", "", "settings:read"),
    ("PUT", "", "settings:write"),
    ("GET", "/stats", "settings:read"),
    ("GET", "/members", "compliance:read"),
    ("POST", "/members/bulk", "settings:write"),
    ("DELETE", "/members/bulk", "settings:write"),
    ("DELETE", "", "settings:write"),
    ("POST", "/restore", "settings:write"),
];

fn body() -> Value {
    json!({"name": "N", "contactIds": ["0123456789abcdef01234567"], "channel": "email"})
}

async fn call(client: &Client, method: &str, path: &str) -> (u16, Value) {
    let method: Method = method.parse().unwrap();
    let mut request = client.request(method.clone(), path);
    if method != Method::GET {
        request = request.json(&body());
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn a_list_of_another_workspace_is_404() {
    let (one, other) = (Workspace::new().await, Workspace::new().await);
    let id = create(&one, json!({"name": "Secret"})).await["id"].as_str().unwrap().to_owned();
    let unknown = uuid::Uuid::new_v4();
    for (method, path, _) in ENDPOINTS {
        let (status, mut foreign) = call(&other.api, method, &format!("/lists/{id}{path}")).await;
        let (absent_status, mut absent) =
            call(&other.api, method, &format!("/lists/{unknown}{path}")).await;
        assert_eq!((status, absent_status), (404, 404), "{method} {path}");
        for answer in [&mut foreign, &mut absent] {
            answer.as_object_mut().unwrap().retain(|key, _| key != "timestamp" && key != "path");
        }
        assert_eq!(foreign, absent, "{method} {path}");
    }
    assert_eq!(one.api.get(format!("/lists/{id}"), 200).await.json()["name"], "Secret");
}

#[tokio::test]
async fn every_list_endpoint_requires_its_scope() {
    const SCOPES: &[&str] = &[
        "users:read",
        "users:write",
        "users:delete",
        "events:read",
        "events:write",
        "compliance:read",
        "compliance:write",
        "settings:read",
        "settings:write",
        "campaigns:read",
        "campaigns:write",
        "campaigns:send",
        "campaigns:delete",
        "email_suppression:read",
        "email_suppression:write",
        "sms_suppression:read",
        "sms_suppression:write",
    ];
    let workspace = Workspace::new().await;
    let list = create(&workspace, json!({"name": "News"})).await;
    let id = list["id"].as_str().unwrap();
    for scope in SCOPES {
        let client = workspace.with_scopes(scope).await;
        let mut cases: Vec<(&str, String, &str)> = ENDPOINTS
            .iter()
            .map(|(method, path, needs)| (*method, format!("/lists/{id}{path}"), *needs))
            .collect();
        cases.push(("GET", "/lists".to_owned(), "settings:read"));
        cases.push(("POST", "/lists".to_owned(), "settings:write"));
        for (method, path, needs) in cases {
            let (status, answer) = call(&client, method, &path).await;
            if needs == *scope {
                assert!(
                    status < 300 || status == 409,
                    "{scope} {method} {path}: {status} {answer}"
                );
            } else {
                assert_eq!(status, 403, "{scope} {method} {path}");
                assert_eq!(answer["message"], format!("Missing required scope: {needs}").as_str());
            }
        }
    }
}

#[tokio::test]
async fn no_key_a_wrong_key_and_a_session_are_401() {
    let workspace = Workspace::new().await;
    let id = uuid::Uuid::new_v4();
    let jwt = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.c2ln";
    for client in [
        Client::anonymous(),
        Client::new(&crate::kit::server().url, Some("mr_abcdefghijkl_nonsense")),
        Client::new(&crate::kit::server().url, Some(jwt)),
    ] {
        for (method, path, _) in ENDPOINTS {
            let (status, _) = call(&client, method, &format!("/lists/{id}{path}")).await;
            assert_eq!(status, 401, "{method} {path}");
        }
    }
    workspace.api.get("/lists", 200).await;
}
