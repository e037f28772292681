//! A credential that asks too often is told so, and told when to come back.

use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::kit::{Answer, METERED_BURST, NOW, Server, start};
use crate::{
    auth::{ScopeSet, sessions::NewSession},
    kernel::WorkspaceId,
};

fn token(server: &Server, actor: &str, scopes: &str) -> String {
    let session = NewSession {
        workspace: WorkspaceId::new(uuid::Uuid::nil()),
        actor: actor.to_owned(),
        scopes: scopes.parse::<ScopeSet>().unwrap(),
        ttl: Duration::from_mins(1),
    };
    server.app.sessions.create(NOW, session).unwrap().expose_secret().to_owned()
}

async fn ask(server: &Server, token: &str) -> Answer {
    Answer::of(reqwest::Client::new().get(server.url("/metered")).bearer_auth(token)).await
}

#[tokio::test]
async fn the_one_over_the_burst_is_answered_429_with_every_header() {
    let server = start().await;
    let ann = token(&server, "ann", "compliance:read");
    let first = ask(&server, &ann).await;
    assert_eq!(first.status, 200);
    for (name, value) in [
        ("ratelimit-limit", "1"),
        ("ratelimit-remaining", "1"),
        ("ratelimit-reset", "1"),
        ("ratelimit-policy", "\"mgmt\";q=1;w=1"),
    ] {
        assert_eq!(first.headers[name], value, "{name}");
    }
    // A token comes back each second while the test runs, so a few more than the burst may pass.
    let mut asked = 1;
    let refused = loop {
        let answer = ask(&server, &ann).await;
        asked += 1;
        if answer.status != 200 {
            break answer;
        }
        assert!(asked < METERED_BURST * 100, "never refused");
    };
    assert!(asked > METERED_BURST, "refused at {asked}");
    refused.refused(429, "Too Many Requests", "/metered");
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.headers["ratelimit-remaining"], "0");
    assert_eq!(refused.headers["ratelimit-reset"], "1");
    let bob = ask(&server, &token(&server, "bob", "compliance:read")).await;
    assert_eq!(bob.status, 200, "each credential has a bucket of its own");
}

#[tokio::test]
async fn a_refused_scope_counts_and_an_invented_credential_has_no_bucket() {
    let server = start().await;
    let forbidden = ask(&server, &token(&server, "ann", "events:read")).await;
    assert_eq!(forbidden.status, 403);
    assert!(forbidden.headers.contains_key("ratelimit-remaining"));
    let invented = ask(&server, "a.b.c").await;
    assert_eq!(invented.status, 401);
    assert!(!invented.headers.contains_key("ratelimit-remaining"));
    let unlimited = server.post("/guarded", &[], Vec::new()).await;
    assert!(!unlimited.headers.contains_key("ratelimit-limit"));
}
