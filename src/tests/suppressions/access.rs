//! The channel decides the scope. The scope is checked before the request, since an error must not reveal what the
//! caller may not read.

use serde_json::{Value, json};

use crate::{
    consent::fixture::session,
    kit::{Client, Workspace},
};

async fn ask(api: &Client, method: &str, path: &str, body: &Value, expected: u16) -> Value {
    let mut request = api.request(method.parse().unwrap(), path);
    if !body.is_null() {
        request = request.json(body);
    }
    api.send(request, expected).await.json()
}

/// A route: method, path, body, `read` or `write`, and the status of success.
type Route = (&'static str, String, Value, &'static str, u16);

/// Every route for one channel.
fn routes(channel: &str) -> Vec<Route> {
    let identifier = if channel == "email" { "a@example.test" } else { "%2B4915112345" };
    let plain = identifier.replace("%2B", "+");
    let one = format!("/suppressions/{identifier}?channel={channel}");
    let row = json!({"channel": channel, "identifier": plain});
    let rows = json!({"channel": channel, "entries": [{"identifier": plain}]});
    let mut routes = vec![
        ("GET", format!("/suppressions?channel={channel}"), Value::Null, "read", 200),
        ("GET", one.clone(), Value::Null, "read", 200),
        ("GET", one.replace('?', "/history?"), Value::Null, "read", 200),
        ("POST", "/suppressions".to_owned(), row, "write", 201),
        ("POST", "/suppressions/import".to_owned(), rows, "write", 200),
        ("DELETE", one, Value::Null, "write", 200),
    ];
    if channel == "email" {
        let path = "/suppressions/hard-bounce".to_owned();
        routes.push(("POST", path, json!({"identifier": plain}), "write", 201));
    }
    routes
}

#[tokio::test]
async fn each_channel_requires_its_scope_and_names_it() {
    for scope in [
        "email_suppression:read",
        "email_suppression:write",
        "sms_suppression:read",
        "sms_suppression:write",
        "compliance:write",
    ] {
        let key = Workspace::new().await.with_scopes(scope).await;
        for api in [key, session(Workspace::new().await.id, scope)] {
            for channel in ["email", "sms", "whatsapp"] {
                let family = if channel == "email" { "email" } else { "sms" };
                for (method, path, body, access, success) in routes(channel) {
                    let needed = format!("{family}_suppression:{access}");
                    if scope == needed {
                        ask(&api, method, &path, &body, success).await;
                        continue;
                    }
                    let answer = ask(&api, method, &path, &body, 403).await;
                    let named = format!("Missing required scope: {needed} (channel {channel})");
                    assert_eq!(answer["message"], named, "{scope} {method} {path}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_missing_channel_is_reported_only_to_callers_with_a_suppression_scope() {
    let workspace = Workspace::new().await;
    let some = workspace.with_scopes("sms_suppression:read").await;
    let none = workspace.with_scopes("compliance:*,settings:*,users:*").await;
    let one_of = "channel must be one of: email, sms, whatsapp";
    for (query, problem) in [
        ("", "channel is required"),
        ("?channel=", "channel is required"),
        ("?channel=push", one_of),
        ("?channel=Email", one_of),
        ("?channel=email&channel=fax", one_of),
    ] {
        for (method, path) in [
            ("GET", format!("/suppressions{query}")),
            ("GET", format!("/suppressions/a@example.test{query}")),
            ("GET", format!("/suppressions/a@example.test/history{query}")),
            ("DELETE", format!("/suppressions/a@example.test{query}")),
        ] {
            let answer = ask(&some, method, &path, &Value::Null, 400).await;
            assert_eq!(answer["errors"], json!([problem]), "{method} {path}");
            ask(&none, method, &path, &Value::Null, 403).await;
        }
    }
    for body in [json!({}), json!({"channel": "fax"}), json!({"channel": 7}), json!([]), json!("x")]
    {
        for path in ["/suppressions", "/suppressions/import"] {
            ask(&some, "POST", path, &body, 400).await;
            ask(&none, "POST", path, &body, 403).await;
        }
    }
    some.post_bytes("/suppressions", "{", 400).await;
    none.post_bytes("/suppressions", "{", 403).await;
    let long = "x".repeat(40);
    ask(&some, "GET", &format!("/suppressions?channel={long}"), &Value::Null, 400).await;
}

#[tokio::test]
async fn the_scope_is_checked_before_the_request() {
    let workspace = Workspace::new().await;
    let sms = workspace.with_scopes("sms_suppression:*").await;
    let wrong =
        json!({"channel": "email", "identifier": 7, "reason": "complaint", "scope": "group"});
    let answer = ask(&sms, "POST", "/suppressions", &wrong, 403).await;
    assert_eq!(
        answer["message"],
        "Missing required scope: email_suppression:write (channel email)"
    );
    ask(&sms, "POST", "/suppressions/import", &json!({"channel": "email"}), 403).await;
    ask(&sms, "POST", "/suppressions/hard-bounce", &json!([]), 403).await;
    ask(&sms, "GET", "/suppressions?channel=email&reason=spam", &Value::Null, 403).await;
    ask(&sms, "GET", "/suppressions/nonsense?channel=email", &Value::Null, 403).await;
    ask(&sms, "GET", "/suppressions/nonsense/history?channel=email", &Value::Null, 403).await;
    ask(&sms, "DELETE", "/suppressions/nonsense?channel=email", &Value::Null, 403).await;
    // Of a repeated key the last one counts, for the judgement as for the rest.
    let twice = r#"{"channel":"sms","identifier":"+4915112345","channel":"email"}"#;
    sms.post_bytes("/suppressions", twice, 403).await;
    ask(&sms, "GET", "/suppressions?channel=sms&channel=email", &Value::Null, 403).await;
    Client::anonymous().get("/suppressions", 401).await;
}
