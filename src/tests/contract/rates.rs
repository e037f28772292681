//! Rate limits of routes, per credential.

use futures_util::future::{join, join_all};
use kernel::Clock;
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};

use crate::kit::{Client, TestServer, Workspace, data_dir, run, settings, unique};

const LIMIT: &str = "ratelimit-limit";
const REMAINING: &str = "ratelimit-remaining";

#[tokio::test]
async fn management_routes_have_rate_headers_and_user_and_event_routes_have_none() {
    let workspace = Workspace::new().await;
    let forbidden = workspace.with_scopes("users:write").await;
    for (path, status) in [
        ("/lists", 200),
        ("/suppressions?channel=email", 200),
        ("/subscriptions/contacts/0123456789abcdef01234567", 404),
        ("/subscriptions/hosted-page/preference-center", 200),
    ] {
        let answer = workspace.api.get(path, status).await;
        assert_eq!(answer.headers[LIMIT], "1000", "{path}");
        assert_eq!(answer.headers["ratelimit-policy"], "\"mgmt\";q=1000;w=1", "{path}");
        let refused = forbidden.get(path, 403).await;
        assert_eq!(refused.headers[REMAINING], "1000", "what is refused counts, too: {path}");
    }
    for path in ["/users", "/events/query"] {
        let answer = workspace.api.get(path, 200).await;
        assert!(!answer.headers.contains_key(LIMIT), "{path}");
    }
}

#[tokio::test]
async fn a_workspace_may_send_twenty_tests_a_minute_over_all_keys_and_channels() {
    let workspace = Workspace::new().await;
    let other = workspace.with_scopes("campaigns:send").await;
    let forbidden = workspace.with_scopes("campaigns:read").await;
    let campaign = uuid::Uuid::new_v4();
    let path = |channel: &str| format!("/campaigns/{campaign}/send-test-{channel}");
    let body = json!({"userId": "ann"});
    let channels = ["email", "sms", "push", "whatsapp", "in-app"].repeat(4);
    join_all(channels.iter().map(async |channel| {
        forbidden.post(&path(channel), &body, 403).await;
    }))
    .await;
    // At once, so that all of them are in one minute on a slow machine, too.
    let sent = channels.iter().enumerate().map(async |(at, channel)| {
        let api = if at % 2 == 0 { &workspace.api } else { &other };
        api.post(&path(channel), &body, 404).await
    });
    let mut remaining: Vec<usize> = Vec::new();
    for answer in join_all(sent).await {
        assert_eq!(answer.headers[LIMIT], "20");
        assert_eq!(answer.headers["ratelimit-policy"], "\"test_sends\";q=20;w=60");
        remaining.push(answer.headers[REMAINING].to_str().unwrap().parse().unwrap());
    }
    remaining.sort_unstable();
    assert_eq!(remaining, (0..20).collect::<Vec<_>>());
    let refused = other.post(&path("email"), &body, 429).await;
    assert_eq!(refused.headers[REMAINING], "0");
    let wait: u32 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    Workspace::new().await.api.post(&path("email"), &body, 404).await;
    let campaigns = workspace.api.get("/campaigns", 200).await;
    assert_eq!(campaigns.headers[LIMIT], "500", "nothing else waits for it");
}

/// Look-ups of a peer that may fail at once on a server that allows few.
const FAILURES: usize = 20;
/// Unknown keys that the tests send at once. One more look-up a second may fail, so a slow machine lets few more through.
const AT_ONCE: usize = 4 * FAILURES;

/// A server that lets few look-ups fail, and believes what a proxy says of peers.
fn strict() -> TestServer {
    let settings = settings(
        &data_dir("failed-lookups"),
        &[
            ("rate_limits.failed_lookups.per_second", "1".to_owned()),
            ("rate_limits.failed_lookups.burst", FAILURES.to_string()),
            ("http.trusted_proxies", "127.0.0.0/8".to_owned()),
        ],
    );
    run(settings, Clock::system())
}

/// A peer of such a server, by the address that a proxy names.
struct Peer<'s> {
    url: &'s str,
    address: &'static str,
}

impl Peer<'_> {
    async fn ask(&self, key: &str) -> (u16, HeaderMap, Value) {
        let client = Client::new(self.url, Some(key));
        self.answer(client.request(Method::GET, "/users?limit=1")).await
    }

    async fn track(&self, sdk_key: &str) -> (u16, HeaderMap, Value) {
        let client = Client::new(self.url, None);
        let request = client.request(Method::POST, "/v1/track").header("x-sdk-key", sdk_key);
        self.answer(request.json(&json!({"userId": "ann", "eventName": "A"}))).await
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> (u16, HeaderMap, Value) {
        let answer = request.header("x-forwarded-for", self.address).send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        (status, headers, answer.json().await.unwrap())
    }

    /// Asks at once with so many keys that do not exist.
    async fn ask_unknown(&self, count: usize) -> Vec<(u16, HeaderMap, Value)> {
        join_all((0..count).map(async |_| self.ask(&unknown_key("mr")).await)).await
    }

    /// Asks with keys that do not exist until they are not looked up any more, and with a key that does in between.
    async fn exhaust(&self, known: &str) -> (HeaderMap, Value) {
        let mut failed = 0;
        for _ in 0..5 {
            let mut refused = None;
            for (status, headers, body) in self.ask_unknown(AT_ONCE).await {
                if status == 429 {
                    refused = Some((headers, body));
                } else {
                    assert_eq!((status, &body["message"]), (401, &json!("Invalid API key")));
                    failed += 1;
                }
            }
            assert_eq!(self.ask(known).await.0, 200);
            if let Some(refused) = refused {
                assert!(failed >= FAILURES, "{failed}");
                return refused;
            }
        }
        panic!("unknown keys are looked up without limit");
    }
}

/// A key of the right form that does not exist.
fn unknown_key(prefix: &str) -> String {
    let text = || uuid::Uuid::new_v4().simple().to_string();
    format!("{prefix}_{}_{:A<43}", &text()[..12], text())
}

#[tokio::test]
async fn unknown_keys_are_rate_limited_and_known_ones_are_not() {
    let server = tokio::task::spawn_blocking(strict).await.unwrap();
    let name = unique("lookups");
    let (known, _) = server.key(&name, "*").await;
    let peer = |address| Peer { url: &server.url, address };
    let (one, other) = (peer("192.0.2.1"), peer("2001:db8::1"));
    assert_eq!(one.ask(&known).await.0, 200);
    let (headers, body) = one.exhaust(&known).await;
    assert!(headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap() >= 1);
    assert_eq!((&body["statusCode"], &body["message"]), (&json!(429), &json!("Too Many Requests")));
    assert_eq!(body["path"], "/users?limit=1");

    // One failure a second is allowed, so a look-up may pass here; keys of apps and of programs count together.
    let mut unseen = Vec::new();
    loop {
        let (fresh, _) = server.key(&name, "*").await;
        let (_, (status, ..)) = join(one.ask_unknown(AT_ONCE), one.ask(&fresh)).await;
        unseen.push(fresh);
        if status == 429 {
            break;
        }
        assert_eq!(status, 200);
        assert!(unseen.len() < 100, "a new key is looked up without limit");
    }
    let tracked = (0..AT_ONCE).map(async |_| one.track(&unknown_key("mrs")).await.0);
    assert!(join_all(tracked).await.contains(&429), "SDK keys that do not exist");
    assert_eq!(one.ask(&known).await.0, 200);

    // Another peer is not affected, and what it made known is served to the first.
    let fresh = unseen.pop().unwrap();
    assert_eq!(other.ask(&fresh).await.0, 200);
    assert_eq!(one.ask(&fresh).await.0, 200);
    assert_eq!(other.ask(&unknown_key("mr")).await.0, 401);
    // Addresses of one IPv6 network are one peer.
    peer("2001:db8:1::1").exhaust(&known).await;
    // Fewer than a rate of its own would let fail.
    let neighbour = peer("2001:db8:1::2").ask_unknown(FAILURES - 1).await;
    assert!(neighbour.iter().any(|(status, ..)| *status == 429), "{neighbour:?}");

    let metrics = Client::new(&server.admin_url, None).get("/metrics", 200).await.text;
    let counted = "millrace_http_requests_throttled_total{class=\"unknown_keys\"} ";
    let counted = metrics.lines().find_map(|line| line.strip_prefix(counted));
    assert!(counted.unwrap().parse::<f64>().unwrap() >= 3.0);
}
