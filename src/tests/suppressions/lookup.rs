//! `GET /suppressions` and `GET /suppressions/:identifier`.

use serde_json::{Value, json};

use crate::{
    consent::fixture::{self, standing},
    kit::Workspace,
};

#[tokio::test]
async fn suppression_pages_are_newest_first_with_applied_filters() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    fixture::run(
        workspace.id,
        "insert into suppression (workspace_id, id, channel, identifier, reason, source, scope, created_at)
         select $1, gen_random_uuid(), 'sms', '1000' || n,
             case n % 2 when 0 then 'manual' else 'unsubscribe' end, 'api', 'global',
             now() + n * interval '1 ms'
         from generate_series(0, 4) n",
    )
    .await;
    let page = async |query: &str| {
        let page = api.get(format!("/suppressions?channel=sms{query}"), 200).await.json();
        let last = |row: &Value| row["identifier"].as_str().unwrap()[4..].to_owned();
        let items: String = page["items"].as_array().unwrap().iter().map(last).collect();
        json!([items, page["total"], page["limit"], page["offset"]])
    };
    for (query, expected) in [
        ("", json!(["43210", 5, 100, 0])),
        ("&limit=2", json!(["43", 5, 2, 0])),
        ("&limit=2&offset=3", json!(["10", 5, 2, 3])),
        ("&limit=1000", json!(["43210", 5, 1000, 0])),
        ("&limit=1001", json!(["43210", 5, 1000, 0])),
        ("&limit=0&offset=-1", json!(["43210", 5, 100, 0])),
        ("&limit=x", json!(["43210", 5, 100, 0])),
        ("&reason=unsubscribe", json!(["31", 2, 100, 0])),
        ("&reason=manual&limit=1&offset=1", json!(["2", 3, 1, 1])),
        ("&reason=hard_bounce", json!(["", 0, 100, 0])),
    ] {
        assert_eq!(page(query).await, expected, "{query}");
    }
    let answer = api.get("/suppressions?channel=sms&reason=spam", 400).await;
    let error = "reason must be one of: unsubscribe, hard_bounce, complaint, manual";
    assert_eq!(answer.errors(), [error]);
    let elsewhere = Workspace::new().await.api.get("/suppressions?channel=sms", 200).await.json();
    assert_eq!(elsewhere, json!({"items": [], "total": 0, "limit": 100, "offset": 0}));
}

#[tokio::test]
async fn a_status_shows_the_most_severe_global_suppression() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let (list, ann) = (fixture::list(workspace.id, false).await, "ann@example.test");
    assert_eq!(standing(api, "email", ann).await, json!({"suppressed": false}));
    let group = json!({
        "channel": "email", "identifier": ann, "scope": "group", "listId": list, "reason": "unsubscribe",
    });
    let row = api.post("/suppressions", &group, 201).await.json();
    assert_eq!(
        standing(api, "email", ann).await,
        json!({
            "suppressed": true, "identifier": ann, "reason": "unsubscribe", "source": "api",
            "scope": "group", "listId": list, "createdAt": row["createdAt"],
        })
    );
    let shown = async || {
        let row = standing(api, "email", ann).await;
        format!("{} {}", row["scope"].as_str().unwrap(), row["reason"].as_str().unwrap())
    };
    for reason in ["manual", "unsubscribe"] {
        let body = json!({"channel": "email", "identifier": ann, "reason": reason});
        api.post("/suppressions", &body, 201).await;
        assert_eq!(shown().await, format!("global {reason}"));
    }
    fixture::run(
        workspace.id,
        "insert into suppression (workspace_id, id, channel, identifier, reason, source, scope, created_at)
         values ($1, gen_random_uuid(), 'email', 'ann@example.test', 'complaint', 'delivery', 'global', now())",
    )
    .await;
    assert_eq!(shown().await, "global complaint");
    api.post("/suppressions/hard-bounce", &json!({"identifier": ann}), 201).await;
    assert_eq!(shown().await, "global hard_bounce");
}

#[tokio::test]
async fn identifiers_are_found_in_any_notation() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let body = json!({"channel": "email", "identifier": "a+b/c@bücher.example"});
    api.post("/suppressions", &body, 201).await;
    api.post("/suppressions", &json!({"channel": "sms", "identifier": "+49151234567"}), 201).await;
    for (channel, path) in [
        ("email", "a%2Bb%2Fc%40b%C3%BCcher.example"),
        ("email", "%20A%2BB%2FC@xn--bcher-kva.example"),
        ("sms", "+49151234567"),
        ("sms", "%2B49%20151%20234567"),
        ("sms", "0049151234567"),
    ] {
        let row = api.get(format!("/suppressions/{path}?channel={channel}"), 200).await.json();
        assert_eq!(row["suppressed"], true, "{path}");
    }
    for (channel, path) in [("sms", "49151234567"), ("whatsapp", "+49151234567")] {
        let row = api.get(format!("/suppressions/{path}?channel={channel}"), 200).await.json();
        assert_eq!(row["suppressed"], false, "{path}");
    }
    for (channel, path) in [("email", "ann"), ("sms", "a@example.test"), ("sms", "1234")] {
        let answer = api.get(format!("/suppressions/{path}?channel={channel}"), 400).await;
        assert!(answer.errors()[0].starts_with("identifier must be "), "{path}");
    }
}
