//! The rates of `/v1`: of a peer, and of a key.

use futures_util::future::join_all;
use kernel::Clock;
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};

use super::Device;
use crate::kit::{Client, TestServer, Workspace, data_dir, eventually, run, settings, unique};

/// Requests at once. A token comes back each second, so a slow machine answers few more than the burst of a bucket.
const AT_ONCE: usize = 150;

/// A server that lets few requests of apps through, and believes what a proxy says of peers.
fn slow(folder: &str) -> TestServer {
    let settings = settings(
        &data_dir(folder),
        &[
            ("rate_limits.sdk_peer.per_second", "1".to_owned()),
            ("rate_limits.sdk_peer.burst", "20".to_owned()),
            ("rate_limits.sdk_key.per_second", "1".to_owned()),
            ("rate_limits.sdk_key.burst", "60".to_owned()),
            ("http.trusted_proxies", "127.0.0.0/8".to_owned()),
        ],
    );
    run(settings, Clock::system())
}

/// Tracks an event of an app as this peer.
async fn track(device: &Device, peer: &str) -> (u16, HeaderMap) {
    let event = json!({"userId": "ann", "eventName": "A"});
    let request = device.request(Method::POST, "/v1/track").header("x-forwarded-for", peer);
    let answer = request.header("origin", "https://shop.example").json(&event).send().await;
    let answer = answer.unwrap();
    (answer.status().as_u16(), answer.headers().clone())
}

/// Tracks an event as each of these peers at once. Gives the headers of an answer that refuses one for its rate.
async fn refused(device: &Device, peers: &[String]) -> HeaderMap {
    let answers = join_all(peers.iter().map(|peer| track(device, peer))).await;
    let refused = answers.into_iter().find(|(status, _)| *status == 429);
    refused.expect("more than the burst are sent").1
}

#[tokio::test]
async fn sdk_routes_have_rate_headers_and_server_routes_have_none() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let event = json!({"userId": "ann", "eventName": "A"});
    let answer = device.post("/v1/track", &event, 200).await;
    assert_eq!(answer.headers["ratelimit-limit"], "5000");
    assert_eq!(answer.headers["ratelimit-policy"], "\"sdk_key\";q=5000;w=1");
    let refused = device.get("/v1/in-app/messages?userId=ann&platform=web", 401).await;
    assert!(refused.headers.contains_key("ratelimit-remaining"), "refused requests count, too");
    let answer = workspace.api.post("/events/track", &event, 200).await;
    assert!(!answer.headers.contains_key("ratelimit-limit"));
}

#[tokio::test]
async fn sdk_rates_apply_per_peer_and_per_key() {
    let server = tokio::task::spawn_blocking(|| slow("sdk-rates")).await.unwrap();
    let name = unique("rates");
    let (token, workspace) = server.key(&name, "*").await;
    let (one, other) =
        (Device::on(&server, workspace, &name).await, Device::on(&server, workspace, &name).await);
    let event = json!({"userId": "ann", "eventName": "A"});
    let headers = refused(&one, &vec!["192.0.2.1".to_owned(); AT_ONCE]).await;
    assert_eq!(headers["ratelimit-policy"], "\"sdk_peer\";q=1;w=1");
    assert_eq!(headers["ratelimit-remaining"], "0");
    assert!(headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap() >= 1);
    assert_eq!(headers["access-control-allow-origin"], "*", "pages can read it");
    assert_eq!(track(&one, "192.0.2.2").await.0, 200, "another peer has its own");
    let unknown = Client::new(&server.url, None);
    let unknown_key = unknown.request(Method::POST, "/v1/track").header("x-sdk-key", "mrs_x_y");
    let unknown_key = unknown_key.header("x-forwarded-for", "192.0.2.1").json(&event);
    let invented = (0..AT_ONCE).map(|_| unknown_key.try_clone().unwrap().send());
    let invented = join_all(invented).await;
    let is_refused = |answer: reqwest::Result<reqwest::Response>| answer.unwrap().status() == 429;
    assert!(invented.into_iter().any(is_refused), "before the key is looked at");
    let peers: Vec<String> = (0..AT_ONCE).map(|number| format!("198.51.100.{number}")).collect();
    let headers = refused(&one, &peers).await;
    assert_eq!(headers["ratelimit-policy"], "\"sdk_key\";q=1;w=1");
    assert_eq!(track(&other, "192.0.2.3").await.0, 200, "another key has its own");
    let api = Client::new(&server.url, Some(&token));
    for _ in 0..70 {
        api.post("/events/track", &event, 200).await;
    }
}

/// Calls of event SDKs with this key where each protocol may put it, from one peer at once; gives the statuses.
async fn called(server: &TestServer, key: &str, peer: &str) -> Vec<u16> {
    let client = Client::new(&server.url, None);
    let post = |path: &str| client.request(Method::POST, path).header("x-forwarded-for", peer);
    let segment = json!([{"type": "track", "event": "E", "userId": "ann"}]);
    let posthog = json!([{"event": "E", "distinct_id": "ann"}]);
    let requests = (0..AT_ONCE).map(|number| {
        let request = match number % 4 {
            0 => post("/batch/").json(&json!({"api_key": key, "batch": posthog})),
            1 => post("/v1/batch").json(&json!({"writeKey": key, "batch": segment})),
            2 => post(&format!("/v1/batch?writeKey={key}")).json(&json!({"batch": segment})),
            _ => post("/v1/batch").basic_auth(key, Some("")).json(&json!({"batch": segment})),
        };
        async { request.send().await.unwrap().status().as_u16() }
    });
    join_all(requests).await
}

#[tokio::test]
async fn a_server_is_not_limited_by_its_peer_wherever_its_key_stands() {
    let server = tokio::task::spawn_blocking(|| slow("sdk-rates-of-servers")).await.unwrap();
    let name = unique("rates");
    let (token, workspace) = server.key(&name, "events:write").await;
    let device = Device::on(&server, workspace, &name).await;
    let peer = "192.0.2.1";
    assert_eq!(called(&server, &token, peer).await, [200; AT_ONCE]);
    // Public and unknown keys are, and what they use up is not the server's.
    let unknown = format!("mr_{}_{}", "a".repeat(12), "b".repeat(43));
    for (key, peer, answered) in
        [(device.key.as_str(), peer, 200), (&unknown, "192.0.2.2", 401), ("", "192.0.2.3", 401)]
    {
        let statuses = called(&server, key, peer).await;
        assert!(statuses.iter().all(|it| [answered, 429].contains(it)), "{key}: {statuses:?}");
        let passed = statuses.iter().filter(|it| **it == answered).count();
        // The burst, and what comes back while the machine is slow.
        assert!((20..AT_ONCE).contains(&passed), "{key}: {passed}");
    }
    let refused = Client::new(&server.url, None).request(Method::POST, "/batch/");
    let refused = refused.header("x-forwarded-for", "192.0.2.2").json(&json!({"api_key": unknown}));
    let refused = refused.send().await.unwrap();
    assert_eq!(refused.headers()["ratelimit-policy"], "\"sdk_peer\";q=1;w=1");
    assert_eq!(called(&server, &token, peer).await, [200; AT_ONCE]);
}

/// Calls of this type, of people of their own.
fn calls(kind: &str, count: usize) -> Vec<Value> {
    let call = |number| json!({"type": kind, "userId": format!("{kind}-{number}"), "previousId": format!("p{number}")});
    (0..count).map(call).collect()
}

#[tokio::test]
async fn what_public_keys_change_about_profiles_is_limited_by_workspace_and_by_what_it_costs() {
    let settings = settings(
        &data_dir("sdk-profile-work"),
        &[
            ("rate_limits.sdk_profile_work.per_second", "1".to_owned()),
            ("rate_limits.sdk_profile_work.burst", "60".to_owned()),
        ],
    );
    let server = tokio::task::spawn_blocking(|| run(settings, Clock::system())).await.unwrap();
    let (name, other_name) = (unique("work"), unique("work"));
    let (token, workspace) = server.key(&name, "*").await;
    let (_, other_workspace) = server.key(&other_name, "*").await;
    let (one, two) =
        (Device::on(&server, workspace, &name).await, Device::on(&server, workspace, &name).await);
    let other = Device::on(&server, other_workspace, &other_name).await;
    let client = Client::new(&server.url, None);
    let send = async |key: &str, calls: &[Value], status: u16| {
        let request = client.request(Method::POST, "/v1/batch").basic_auth(key, Some(""));
        client.send(request.json(&json!({"batch": calls})), status).await
    };
    send(&one.key, &calls("identify", 59), 200).await;
    // One is left: the next request is taken, and owes what it costs. A token comes back each second.
    send(&one.key, &calls("alias", 100), 200).await;
    let refused = send(&two.key, &[], 400).await;
    assert!(!refused.headers.contains_key("retry-after"), "a body without calls costs nothing");
    let late = json!({"type": "identify", "userId": "late"});
    let refused = send(&two.key, std::slice::from_ref(&late), 429).await;
    let wait: u32 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((2_000..=2_100).contains(&wait), "{wait}");
    assert_eq!(refused.json()["code"], 429);
    let posthog = json!({"api_key": two.key, "batch": [{"event": "$set", "distinct_id": "late", "$set": {"a": 1}}]});
    client.send(client.request(Method::POST, "/batch/").json(&posthog), 429).await;
    // Events beside such a call are recorded all the same, and it is listed.
    let event = json!({"type": "track", "event": "Beside", "userId": "ann"});
    send(&two.key, &[event, late.clone()], 200).await;
    // Events alone change no profile. Another workspace has its own, and servers have no limit.
    send(&two.key, &[json!({"type": "track", "event": "E", "userId": "ann"})], 200).await;
    send(&other.key, std::slice::from_ref(&late), 200).await;
    send(&token, &calls("alias", 10), 200).await;
    send(&token, &[json!({"type": "identify", "userId": "end"})], 200).await;
    let api = Client::new(&server.url, Some(&token));
    let has = async |id: &str| {
        let found = api.get(format!("/users/search?query={id}"), 200).await.json();
        !found["data"].as_array().unwrap().is_empty()
    };
    eventually("what came last is applied", || async { has("end").await.then_some(()) }).await;
    assert!(!has("late").await, "nothing of a refused request is recorded");
    eventually("the event is stored", || async {
        let found = api.get("/events/query?eventName=Beside", 200).await.json();
        (!found.as_array().unwrap().is_empty()).then_some(())
    })
    .await;
    eventually("the call beside it is listed", || async {
        let list = api.get("/events/rejected", 200).await.json();
        let mut listed = list["data"].as_array().unwrap().iter();
        let is_late = |it: &Value| it["userId"] == "late" && it["name"] == "identify";
        let found = listed.find(|it| is_late(it))?;
        assert!(found["reason"].as_str().unwrap().contains("change more of profiles"), "{list}");
        Some(())
    })
    .await;
    // What never fits is not sent again.
    let never = send(&other.key, &calls("alias", 2_381), 400).await.json();
    let fault = "changes of profiles of one request with an SDK key may cost at most 50000, these cost 50001";
    assert_eq!(never["message"], fault);
}
