//! A revoked key is refused within a second, whether or not its notification arrives.

use std::time::{Duration, Instant};

use secrecy::ExposeSecret as _;
use web::auth::{
    keys,
    revoke::{self, Revoked},
    sessions::NewSession,
};

use super::guard::{Guard, now};
use crate::kit::eventually;

/// The second of the promise, and more for a machine that stands still for a while: a key that is not looked
/// up again lives on for good.
const REVOKED_WITHIN: Duration = Duration::from_secs(10);

/// Waits until a key is refused; gives how long that took.
async fn refused(guard: &Guard, key: &str) -> Duration {
    let began = Instant::now();
    eventually("the key is refused", async || (guard.status(key).await == 401).then_some(())).await;
    began.elapsed()
}

#[tokio::test]
async fn a_revocation_reaches_keys_in_use() {
    let guard = Guard::fresh().await;
    let (issued, other) = (guard.key("shop", "*").await, guard.key("shop", "*").await);
    let _watch = guard.watch();
    assert_eq!(guard.status(&issued.text).await, 200);
    assert_eq!(guard.status(&other.text).await, 200);
    keys::revoke(&guard.db, now(), issued.created.id).await.unwrap();
    let took = refused(&guard, &issued.text).await;
    assert!(took < REVOKED_WITHIN, "took {took:?}");
    assert_eq!(guard.status(&other.text).await, 200, "the other key stays valid");
    guard.bearer("/read", &issued.text).await.refused(401, "Invalid API key");
}

#[tokio::test]
async fn a_revocation_is_found_by_polling_when_its_notification_is_lost() {
    let guard = Guard::fresh().await;
    sqlx::raw_sql(
        "create or replace function auth_changed() returns trigger language plpgsql as $$
         begin update auth_revision set revision = revision + 1; return null; end $$",
    )
    .execute(&guard.db)
    .await
    .unwrap();
    let issued = guard.key("shop", "*").await;
    let _watch = guard.watch();
    for _ in 0..3 {
        assert_eq!(guard.status(&issued.text).await, 200);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    keys::revoke(&guard.db, now(), issued.created.id).await.unwrap();
    let took = refused(&guard, &issued.text).await;
    assert!(took < REVOKED_WITHIN, "took {took:?}");
}

#[tokio::test]
async fn a_key_removed_by_hand_is_refused_too() {
    let guard = Guard::fresh().await;
    let issued = guard.key("shop", "*").await;
    let _watch = guard.watch();
    assert_eq!(guard.status(&issued.text).await, 200);
    sqlx::query("delete from api_key").execute(&guard.db).await.unwrap();
    assert!(refused(&guard, &issued.text).await < REVOKED_WITHIN);
}

#[tokio::test]
async fn a_key_revoked_before_its_first_use_is_refused() {
    let guard = Guard::fresh().await;
    let issued = guard.key("shop", "*").await;
    keys::revoke(&guard.db, now(), issued.created.id).await.unwrap();
    assert_eq!(guard.status(&issued.text).await, 401);
}

#[tokio::test]
async fn revoking_is_idempotent_and_an_unknown_key_is_an_error() {
    let guard = Guard::fresh().await;
    let issued = guard.key("shop", "*").await;
    keys::revoke(&guard.db, now(), issued.created.id).await.unwrap();
    let first = keys::list(&guard.db, "shop").await.unwrap()[0].revoked_at;
    keys::revoke(&guard.db, now(), issued.created.id).await.unwrap();
    assert_eq!(keys::list(&guard.db, "shop").await.unwrap()[0].revoked_at, first);
    let unknown = keys::revoke(&guard.db, now(), kernel::KeyId::mint()).await.unwrap_err();
    assert_eq!(unknown.to_string(), "Key not found");
}

#[tokio::test]
async fn the_last_use_of_a_key_is_stored_at_shutdown() {
    let guard = Guard::fresh().await;
    let issued = guard.key("shop", "*").await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let watch = guard.watch_until(async {
        let _ = stopped.await;
    });
    let before = now();
    assert_eq!(guard.status(&issued.text).await, 200);
    stop.send(()).unwrap();
    watch.await.unwrap();
    let used = keys::list(&guard.db, "shop").await.unwrap()[0].last_used_at.expect("written down");
    assert!(used >= before && used <= now());
}

#[tokio::test]
async fn revoking_a_session_or_an_actor_refuses_their_sessions() {
    let guard = Guard::fresh().await;
    let workspace = guard.key("shop", "*").await.created.workspace;
    let elsewhere = guard.key("other", "*").await.created.workspace;
    let session = |workspace, actor: &str| {
        let new = NewSession {
            workspace,
            actor: actor.to_owned(),
            scopes: "*".parse().unwrap(),
            ttl: Duration::from_hours(1),
        };
        guard.sessions.create(now(), new).unwrap().expose_secret().to_owned()
    };
    let id =
        |token: &str| guard.sessions.verify(&token.to_owned().into(), now()).unwrap().id.unwrap();
    let (first, second) = (session(workspace, "ann"), session(workspace, "ann"));
    let (bobs, others) = (session(workspace, "bob"), session(elsewhere, "ann"));
    let status = async |token: &str| guard.bearer("/person", token).await.status;
    for token in [&first, &second, &bobs, &others] {
        assert_eq!(status(token).await, 200);
    }
    let one = Revoked::Session(id(&first));
    for _ in 0..2 {
        revoke::sessions(&guard.db, workspace, now(), &one).await.unwrap();
    }
    guard.bearer("/person", &first).await.refused(401, "Invalid session token");
    assert_eq!(status(&second).await, 200);
    let all = Revoked::Actor("ann".to_owned());
    revoke::sessions(&guard.db, workspace, now(), &all).await.unwrap();
    assert_eq!(status(&second).await, 401);
    assert_eq!(status(&bobs).await, 200);
    assert_eq!(status(&others).await, 200, "another workspace's ann");
    eventually("a session made after that is taken", async || {
        (status(&session(workspace, "ann")).await == 200).then_some(())
    })
    .await;
    for wrong in [Revoked::Session(String::new()), Revoked::Actor("x".repeat(256))] {
        assert!(revoke::sessions(&guard.db, workspace, now(), &wrong).await.is_err());
    }
}
