//! PostgreSQL goes away: the data plane does not notice.

use std::time::{Duration, Instant};

use millrace::auth::keys;

use super::{
    guard::{Guard, fresh_database, now},
    proxy::Proxy,
};
use crate::kit::eventually;

/// Longest answer of a route whose key is known, while PostgreSQL is away; one that waited for a
/// connection would take five seconds.
const UNAFFECTED_MAX: Duration = Duration::from_secs(4);

#[tokio::test]
async fn keys_in_use_keep_working_and_unknown_ones_are_told_to_come_back() {
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
    assert_eq!(guard.status(&issued.text).await, 200, "nobody can know yet");
    proxy.restore();
    eventually("the key is refused", async || {
        (guard.status(&issued.text).await == 401).then_some(())
    })
    .await;
}
