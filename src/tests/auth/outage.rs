//! During an outage of PostgreSQL cached keys keep tracking events.

use std::time::{Duration, Instant};

use secrecy::{ExposeSecret as _, SecretString};
use web::auth::{
    KeyKind, ScopeSet, Tolerance,
    keys::{self, NewKey},
    sessions::{NewSession, Sessions},
};

use super::{
    guard::{Guard, fresh_database, new_key, now},
    proxy::Proxy,
};
use crate::kit::eventually;

/// Longest answer of a route whose key is known, while PostgreSQL is away; one that waited for a
/// connection would take fifteen seconds.
const UNAFFECTED_MAX: Duration = Duration::from_secs(12);

#[tokio::test]
async fn during_an_outage_cached_keys_work_and_unknown_ones_get_503() {
    let options = fresh_database().await;
    let (proxy, through) = Proxy::before(&options);
    let guard = Guard::over(through, options);
    let _watch = guard.watch();
    let (known, unknown) = (guard.key("shop", "*").await, guard.key("shop", "*").await);
    assert_eq!(guard.status(&known.text).await, 200);
    proxy.cut();
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(guard.status(&known.text).await, 200);
        assert!(began.elapsed() < UNAFFECTED_MAX, "waited for PostgreSQL: {:?}", began.elapsed());
    }
    let answer = guard.bearer("/read", &unknown.text).await;
    answer.refused(503, "The control-plane store is unavailable");
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(guard.status(&known.text).await, 200);
    proxy.restore();
    eventually("the unknown key is found", async || {
        (guard.status(&unknown.text).await == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_revocation_during_an_outage_takes_effect_after_it() {
    let options = fresh_database().await;
    let (proxy, through) = Proxy::before(&options);
    let guard = Guard::over(through, options);
    let _watch = guard.watch();
    let issued = guard.key("shop", "*").await;
    assert_eq!(guard.status(&issued.text).await, 200);
    proxy.cut();
    keys::revoke(&guard.db, now(), issued.created.id).await.unwrap();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(guard.status(&issued.text).await, 200, "the revocation is not known yet");
    proxy.restore();
    eventually("the key is refused", async || {
        (guard.status(&issued.text).await == 401).then_some(())
    })
    .await;
}

#[tokio::test]
async fn during_an_outage_cached_keys_expire_later_for_tracking() {
    let options = fresh_database().await;
    let (proxy, through) = Proxy::before(&options);
    let tolerance =
        Tolerance { tracking: Duration::from_hours(1), otherwise: Duration::from_secs(2) };
    let guard = Guard::with_tolerance(through, options, tolerance);
    let _watch = guard.watch();
    let (key, revoked) = (guard.key("shop", "*").await, guard.key("shop", "*").await);
    let sdk = NewKey { kind: KeyKind::Sdk, scopes: ScopeSet::NONE, ..new_key("shop", "*") };
    let sdk = guard.create(sdk).await.token.expose_secret().to_owned();
    let by_sdk = async |path| guard.get(path, ("x-sdk-key", &sdk)).await;
    for text in [&key.text, &revoked.text] {
        assert_eq!(guard.status(text).await, 200);
    }
    assert_eq!(by_sdk("/sdk").await.status, 200);
    proxy.cut();
    keys::revoke(&guard.db, now(), revoked.created.id).await.unwrap();
    let refused = eventually("the key is refused", async || {
        let answer = guard.bearer("/read", &key.text).await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    refused.refused(503, "The control-plane store is unavailable");
    assert_eq!(refused.headers["retry-after"], "1");
    // It was looked up a moment later.
    let refused = eventually("the SDK key is refused", async || {
        let answer = by_sdk("/sdk").await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    refused.refused(503, "The control-plane store is unavailable");
    assert_eq!(guard.bearer("/track", &key.text).await.status, 200, "events are not lost");
    assert_eq!(by_sdk("/sdk/track").await.status, 200);
    proxy.restore();
    eventually("the key is taken again", async || {
        (guard.status(&key.text).await == 200).then_some(())
    })
    .await;
    eventually("the revoked one is not", async || {
        (guard.bearer("/track", &revoked.text).await.status == 401).then_some(())
    })
    .await;
}

#[tokio::test]
async fn during_an_outage_tracking_is_refused_after_its_longer_time() {
    let options = fresh_database().await;
    let (proxy, through) = Proxy::before(&options);
    let second = Duration::from_secs(1);
    let guard =
        Guard::with_tolerance(through, options, Tolerance { tracking: second, otherwise: second });
    let _watch = guard.watch();
    let key = guard.key("shop", "*").await;
    assert_eq!(guard.bearer("/track", &key.text).await.status, 200);
    proxy.cut();
    eventually("tracking is refused", async || {
        (guard.bearer("/track", &key.text).await.status == 503).then_some(())
    })
    .await;
}

#[tokio::test]
async fn session_tokens_with_a_wrong_signature_are_refused_without_postgresql() {
    let options = fresh_database().await;
    let (proxy, through) = Proxy::before(&options);
    let guard = Guard::over(through, options);
    let workspace = guard.key("shop", "*").await.created.workspace;
    let session = |sessions: &Sessions| {
        let new = NewSession {
            workspace,
            actor: "ann".to_owned(),
            scopes: ScopeSet::all(),
            ttl: Duration::from_mins(5),
        };
        sessions.create(now(), new).unwrap().expose_secret().to_owned()
    };
    let other = "another secret, of more than thirty-two bytes";
    let other = Sessions::from_secret(&SecretString::from(other)).unwrap();
    let (signed, forged) = (session(&guard.sessions), session(&other));
    assert_eq!(guard.bearer("/person", &signed).await.status, 200);
    proxy.cut();
    for _ in 0..20 {
        guard.bearer("/person", &forged).await.refused(401, "Invalid session token");
    }
    assert_eq!(guard.bearer("/person", &signed).await.status, 503, "PostgreSQL is away");
}
