//! Issuing keys: workspaces they create, what is stored, what is refused.

use serde_json::json;
use web::auth::{
    KeyKind, ScopeSet,
    keys::{self, NewKey},
};

use super::guard::{Guard, new_key, now};
use crate::kit::unique;

#[tokio::test]
async fn a_key_gives_access_to_its_own_workspace() {
    let guard = Guard::fresh().await;
    let (one, other) = (guard.key("one", "events:read").await, guard.key("other", "*").await);
    for issued in [&one, &other] {
        let answer = guard.bearer("/read", &issued.text).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.body["workspace"], json!(issued.created.workspace));
        assert_eq!(answer.body["actor"], format!("api_key:{}", issued.created.id));
        assert_eq!(answer.body["currency"], json!(null));
        assert_eq!(answer.body["timezone"], "UTC");
    }
    assert_ne!(one.created.workspace, other.created.workspace);
}

#[tokio::test]
async fn only_the_hash_of_a_secret_is_stored() {
    let guard = Guard::fresh().await;
    let issued = guard.key("shop", "*").await;
    let secret = issued.text.splitn(3, '_').nth(2).unwrap();
    let rows: Vec<String> =
        sqlx::query_scalar("select k::text from api_key k").fetch_all(&guard.db).await.unwrap();
    let hash: Vec<u8> =
        sqlx::query_scalar("select secret_sha256 from api_key").fetch_one(&guard.db).await.unwrap();
    assert!(!rows.concat().contains(secret));
    assert_eq!(hash, <sha2::Sha256 as sha2::Digest>::digest(secret).to_vec());
}

#[tokio::test]
async fn concurrent_callers_create_a_workspace_once() {
    let guard = Guard::fresh().await;
    let name = unique("shop");
    let (a, b, c) =
        tokio::join!(guard.key(&name, "*"), guard.key(&name, "*"), guard.key(&name, "*"));
    assert_eq!(a.created.workspace, b.created.workspace);
    assert_eq!(b.created.workspace, c.created.workspace);
    assert_eq!(keys::list(&guard.db, &name).await.unwrap().len(), 3);
}

#[tokio::test]
async fn workspaces_share_an_organization_when_it_is_named() {
    let guard = Guard::fresh().await;
    let within = |workspace: &str, organization: &str| NewKey {
        organization: Some(organization.to_owned()),
        ..new_key(workspace, "*")
    };
    let organization = async |workspace: &str| {
        let issued = guard.key(workspace, "*").await;
        guard.bearer("/read", &issued.text).await.body["organization"].clone()
    };
    guard.create(within("shop-eu", "shop")).await;
    guard.create(within("shop-us", "shop")).await;
    guard.create(new_key("alone", "*")).await;
    assert_eq!(organization("shop-eu").await, organization("shop-us").await);
    assert_ne!(organization("shop-eu").await, organization("alone").await);
    // A workspace keeps its organization, and a new organization is not shared.
    let moved = keys::create(&guard.db, now(), within("shop-eu", "alone")).await.unwrap_err();
    assert_eq!(moved.to_string(), r#"workspace "shop-eu" belongs to organization "shop""#);
    let taken = keys::create(&guard.db, now(), new_key("shop", "*")).await.unwrap_err();
    assert!(taken.to_string().contains("--organization"), "{taken}");
    assert!(keys::find_workspace(&guard.db, "shop").await.is_err(), "nothing was half-made");
}

#[tokio::test]
async fn the_currency_of_a_workspace_reaches_keys_in_use() {
    let guard = Guard::fresh().await;
    let issued = guard.key("shop", "*").await;
    assert_eq!(guard.bearer("/read", &issued.text).await.body["currency"], json!(null));
    let watch = guard.watch();
    guard.create(NewKey { currency: Some("eur".to_owned()), ..new_key("shop", "*") }).await;
    crate::kit::eventually("the currency is known", async || {
        let answer = guard.bearer("/read", &issued.text).await;
        (answer.body["currency"] == "EUR").then_some(())
    })
    .await;
    watch.abort();
}

#[tokio::test]
async fn keys_are_listed_per_workspace_with_label_and_scopes() {
    let guard = Guard::fresh().await;
    let first =
        guard.create(NewKey { label: Some("web".to_owned()), ..new_key("shop", "events:*") }).await;
    let sdk = NewKey { kind: KeyKind::Sdk, scopes: ScopeSet::NONE, ..new_key("shop", "*") };
    guard.create(sdk).await;
    guard.key("other", "*").await;
    keys::revoke(&guard.db, now(), first.id).await.unwrap();
    let rows = keys::list(&guard.db, "shop").await.unwrap();
    assert_eq!(rows.len(), 2, "the other workspace's key is not among them");
    assert_eq!((rows[0].id.as_str(), rows[0].label.as_deref()), (first.id.as_str(), Some("web")));
    assert_eq!(rows[0].scopes, ["events:read", "events:write"]);
    assert!(rows[0].revoked_at.is_some() && rows[0].last_used_at.is_none());
    assert_eq!((rows[1].kind.as_str(), rows[1].scopes.len()), ("sdk", 0));
    assert_eq!(
        keys::list(&guard.db, "nowhere").await.unwrap_err().to_string(),
        "Workspace not found"
    );
}
