//! Credentials of webhooks: kept sealed, and shown to nobody.

use serde_json::{Value, json};

use super::{call, id, made, put, read};
use crate::kit::{Client, Workspace, server};

const HIDDEN: &str = "********";

fn webhook(auth: &Value) -> Value {
    json!({"name": "Hook", "channel": "webhook", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"url": "https://example.com/h", "auth": auth}},
    ]})
}

fn bearer(token: &str) -> Value {
    json!({"type": "bearer", "token": token})
}

/// What the stores keep of a workspace's campaigns, all of it as one text.
async fn kept(workspace: &Workspace) -> String {
    let (db, workspace) = (server().db(), workspace.id.uuid());
    let rows = async move {
        sqlx::query_scalar::<_, String>(
            "select concat(definition, pending_draft) from campaign where workspace_id = $1
             union all select snapshot::text from campaign_version where workspace_id = $1
             union all select changes::text from campaign_history where workspace_id = $1",
        )
        .bind(workspace)
        .fetch_all(&db)
        .await
        .unwrap()
    };
    server().on(rows).await.join("\n")
}

/// The secret of a campaign's first variant as a call would be made with it.
async fn opened(workspace: &Workspace, campaign: &Value) -> String {
    let (workspace, id) = (workspace.id, id(campaign).parse().unwrap());
    server()
        .with(move |app| async move {
            let found = millrace::campaigns::ops::find(&app, workspace, id).await.unwrap();
            let secret = found.definition.variants[0].auth().unwrap().secret().unwrap().clone();
            let opened = app.vault().open(workspace, secret.as_str()).unwrap().unwrap();
            secrecy::ExposeSecret::expose_secret(&opened).to_owned()
        })
        .await
}

async fn everything_shown(api: &Client, campaign: &Value) -> String {
    let path = format!("/campaigns/{}", id(campaign));
    let mut shown = String::new();
    let versions = api.get(format!("{path}/versions"), 200).await.json();
    for version in versions["data"].as_array().unwrap() {
        let number = &version["version"];
        shown += &api.get(format!("{path}/versions/{number}"), 200).await.text;
        shown += &api.get(format!("{path}/versions/compare?v1=1&v2={number}"), 200).await.text;
    }
    for part in [path.clone(), format!("{path}/history"), "/campaigns".to_owned()] {
        shown += &api.get(part, 200).await.text;
    }
    shown
}

#[tokio::test]
async fn a_secret_is_sealed_where_it_is_kept_and_hidden_wherever_it_is_shown() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &webhook(&bearer("s3cret-one"))).await;
    let token = "/variants/0/message/auth/token";
    assert_eq!(campaign.pointer(token), Some(&json!(HIDDEN)));
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-one");

    // Sent back as it was shown, it stays; nothing changed, so there is no version of it.
    let variants = read(api, &campaign).await["variants"].clone();
    let same = put(api, &campaign, json!({"variants": variants}), 200).await.json();
    assert_eq!((&same["version"], same.pointer(token)), (&json!(1), Some(&json!(HIDDEN))));
    let again = webhook(&bearer("s3cret-one"))["variants"].clone();
    let same = put(api, &campaign, json!({"variants": again}), 200).await.json();
    assert_eq!(same["version"], 1, "the same secret is no change");
    let renamed = put(api, &campaign, json!({"name": "Other"}), 200).await.json();
    assert_eq!(renamed["version"], 2);
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-one");

    // Another one is another one, and an old version brings the old one back.
    let other = webhook(&bearer("s3cret-two"))["variants"].clone();
    put(api, &campaign, json!({"variants": other}), 200).await;
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-two");
    let compared = api
        .get(format!("/campaigns/{}/versions/compare?v1=2&v2=3", id(&campaign)), 200)
        .await
        .json();
    let expected = json!([{"path": token, "op": "replace", "before": HIDDEN, "after": HIDDEN}]);
    assert_eq!(compared["changes"], expected, "that it changed is told, and not into what");
    let path = format!("/campaigns/{}/versions/2/rollback", id(&campaign));
    api.send(api.request(reqwest::Method::POST, &path), 200).await;
    assert_eq!(opened(&workspace, &campaign).await, "s3cret-one");
    let copy = call(api, &campaign, "duplicate", 201).await.json();
    assert_eq!(copy.pointer(token), Some(&json!(HIDDEN)));
    assert_eq!(opened(&workspace, &copy).await, "s3cret-one");

    let shown = everything_shown(api, &campaign).await;
    assert!(!shown.contains("s3cret") && !shown.contains("sealed:"), "{shown}");
    assert!(!kept(&workspace).await.contains("s3cret"));
}

#[tokio::test]
async fn a_secret_that_is_not_kept_cannot_be_meant() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let problem =
        |field: &str, text: &str| json!([format!("variants[0].message.auth.{field} {text}")]);
    for (auth, expected) in [
        (bearer(HIDDEN), problem("token", "must be given: no secret is kept")),
        (
            json!({"type": "basic", "username": "a", "password": HIDDEN}),
            problem("password", "must be given: no secret is kept"),
        ),
        (bearer("sealed:1:made-up"), problem("token", "must not begin with sealed:1:")),
    ] {
        let answer = api.post("/campaigns", &webhook(&auth), 400).await.json();
        assert_eq!(answer["errors"], expected);
    }
    let header = json!({"type": "header", "name": "X-Key", "value": "s3cret"});
    let campaign = made(api, &webhook(&header)).await;
    let mut moved = webhook(&bearer(HIDDEN));
    moved["variants"][0]["id"] = json!("b");
    let answer = put(api, &campaign, json!({"variants": moved["variants"]}), 400).await.json();
    assert_eq!(answer["errors"], problem("token", "must be given: no secret is kept"));
}

#[tokio::test]
async fn the_longest_secret_is_kept_and_one_longer_is_refused() {
    let workspace = Workspace::new().await;
    let longest = "€".repeat(4096);
    let campaign = made(&workspace.api, &webhook(&bearer(&longest))).await;
    put(&workspace.api, &campaign, json!({"name": "Other"}), 200).await;
    assert_eq!(opened(&workspace, &campaign).await, longest);
    let longer = webhook(&bearer(&"x".repeat(4097)));
    workspace.api.post("/campaigns", &longer, 400).await;
}
