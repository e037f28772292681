//! Texts of 401 and 403.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::json;
use web::auth::{KeyKind, ScopeSet, keys::NewKey, sessions::NewSession};

use super::guard::{Guard, new_key, now};

#[tokio::test]
async fn a_403_names_the_missing_scope() {
    let guard = Guard::fresh().await;
    for scopes in ["events:write", "users:*", "campaigns:*,settings:read"] {
        let issued = guard.key("shop", scopes).await;
        guard
            .bearer("/read", &issued.text)
            .await
            .refused(403, "Missing required scope: events:read");
    }
    for scopes in ["events:read", "events:*", "*"] {
        let issued = guard.key("shop", scopes).await;
        assert_eq!(guard.status(&issued.text).await, 200, "{scopes}");
    }
}

#[tokio::test]
async fn an_invalid_credential_is_401() {
    let guard = Guard::fresh().await;
    let issued = guard.key("shop", "*").await;
    let (head, secret) = issued.text.split_at(16);
    let mut wrong_secret = secret.to_owned();
    wrong_secret.replace_range(0..1, if secret.starts_with('A') { "B" } else { "A" });
    for text in [
        format!("{head}{wrong_secret}"),
        format!("{head}{}", &secret[1..]),
        format!("mr_AAAAAAAAAAAA_{secret}"),
        issued.text.replace("mr_", "mrs_"),
        issued.text.to_ascii_uppercase(),
        format!("{}x", issued.text),
        "a.b.c".to_owned(),
    ] {
        let answer = guard.bearer("/read", &text).await;
        answer.refused(401, "Invalid API key");
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
    }
    guard.get("/read", ("x-api-key", &issued.text)).await.refused(401, "Missing API key");
    assert_eq!(guard.status(&issued.text).await, 200);
}

#[tokio::test]
async fn sessions_are_accepted_only_on_routes_for_sessions() {
    let guard = Guard::fresh().await;
    let workspace = guard.key("shop", "*").await.created.workspace;
    let session = |scopes: &str| {
        let scopes = scopes.parse::<ScopeSet>().unwrap();
        let ttl = Duration::from_mins(1);
        let new = NewSession { workspace, actor: "ann".to_owned(), scopes, ttl };
        guard.sessions.create(now(), new).unwrap().expose_secret().to_owned()
    };
    let answer = guard.bearer("/person", &session("compliance:read")).await;
    assert_eq!((answer.status, &answer.body["actor"]), (200, &json!("user:ann")));
    assert_eq!(answer.body["workspace"], json!(workspace));
    let poor = guard.bearer("/person", &session("events:read")).await;
    poor.refused(403, "Missing required scope: compliance:read");
    guard.bearer("/person", "a.b.c").await.refused(401, "Invalid session token");
    guard.bearer("/read", &session("*")).await.refused(401, "Invalid API key");
    let key = guard.key("shop", "compliance:read").await;
    assert_eq!(guard.bearer("/person", &key.text).await.status, 200);
}

#[tokio::test]
async fn an_sdk_key_is_accepted_only_on_sdk_routes() {
    let guard = Guard::fresh().await;
    let new = NewKey { kind: KeyKind::Sdk, scopes: ScopeSet::NONE, ..new_key("shop", "*") };
    let created = guard.create(new).await;
    let text = created.token.expose_secret();
    let answer = guard.get("/sdk", ("x-sdk-key", text)).await;
    assert_eq!((answer.status, &answer.body["workspace"]), (200, &json!(created.workspace)));
    guard.bearer("/read", text).await.refused(401, "Invalid API key");
    let api = guard.key("shop", "*").await;
    guard.get("/sdk", ("x-sdk-key", &api.text)).await.refused(401, "Invalid API key");
    guard.bearer("/sdk", text).await.refused(401, "Missing SDK key");
}
