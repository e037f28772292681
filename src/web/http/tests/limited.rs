//! Callers over the rate get 429 and the time to wait.

use super::kit::{Answer, METERED_BURST, Server, start};

async fn ask(server: &Server, who: &str) -> Answer {
    Answer::of(reqwest::Client::new().get(server.url("/metered")).header("x-who", who)).await
}

#[tokio::test]
async fn the_one_over_the_burst_is_answered_429_with_every_header() {
    let server = start().await;
    let first = ask(&server, "ann").await;
    assert_eq!(first.status, 200);
    for (name, value) in [
        ("ratelimit-limit", "1"),
        ("ratelimit-remaining", "1"),
        ("ratelimit-reset", "1"),
        ("ratelimit-policy", "\"mgmt\";q=1;w=1"),
    ] {
        assert_eq!(first.headers[name], value, "{name}");
    }
    // A token returns each second while the test runs, so a few more than the burst may pass.
    let mut asked = 1;
    let refused = loop {
        let answer = ask(&server, "ann").await;
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
    assert_eq!(ask(&server, "bob").await.status, 200, "each has a bucket of its own");
}

#[tokio::test]
async fn unauthenticated_callers_have_no_bucket() {
    let server = start().await;
    let anonymous = server.get("/metered").await;
    assert_eq!(anonymous.status, 401);
    assert!(!anonymous.headers.contains_key("ratelimit-remaining"));
    let unlimited = server.get("/named/1").await;
    assert!(!unlimited.headers.contains_key("ratelimit-limit"));
}
