//! The rates of `/v1`: of a peer, and of a key.

use kernel::Clock;
use reqwest::Method;
use serde_json::json;

use super::Device;
use crate::kit::{Client, TestServer, Workspace, data_dir, eventually, run, settings, unique};

/// A server that lets few requests of apps through, and believes what a proxy says of peers.
fn slow() -> TestServer {
    let settings = settings(
        &data_dir("sdk-rates"),
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
    let server = tokio::task::spawn_blocking(slow).await.unwrap();
    let name = unique("rates");
    let (token, workspace) = server.key(&name, "*").await;
    let (one, other) =
        (Device::on(&server, workspace, &name).await, Device::on(&server, workspace, &name).await);
    let event = json!({"userId": "ann", "eventName": "A"});
    let track = async |device: &Device, peer: &str| {
        let request = device.request(Method::POST, "/v1/track").header("x-forwarded-for", peer);
        let answer = request.header("origin", "https://shop.example").json(&event).send().await;
        let answer = answer.unwrap();
        (answer.status().as_u16(), answer.headers().clone())
    };
    // A token a second comes back while this runs, so more than the burst may pass.
    let headers = eventually("the peer has used up its rate", || async {
        let (status, headers) = track(&one, "192.0.2.1").await;
        (status == 429).then_some(headers)
    })
    .await;
    assert_eq!(headers["ratelimit-policy"], "\"sdk_peer\";q=1;w=1");
    assert_eq!(headers["ratelimit-remaining"], "0");
    assert!(headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap() >= 1);
    assert_eq!(headers["access-control-allow-origin"], "*", "pages can read it");
    assert_eq!(track(&one, "192.0.2.2").await.0, 200, "another peer has its own");
    let unknown = Client::new(&server.url, None);
    let unknown_key = unknown.request(Method::POST, "/v1/track").header("x-sdk-key", "mrs_x_y");
    let unknown_key = unknown_key.header("x-forwarded-for", "192.0.2.1").json(&event);
    let (mut tries, mut invented_status) = (0, 0);
    while tries < 5 && invented_status != 429 {
        invented_status = unknown_key.try_clone().unwrap().send().await.unwrap().status().as_u16();
        tries += 1;
    }
    assert_eq!(invented_status, 429, "before the key is looked at");
    let mut peer = 0;
    let headers = eventually("the key has used up its rate", || {
        peer += 1;
        let peer = format!("198.51.{}.{}", peer / 250, peer % 250);
        let track = &track;
        let one = &one;
        async move {
            let (status, headers) = track(one, &peer).await;
            (status == 429).then_some(headers)
        }
    })
    .await;
    assert_eq!(headers["ratelimit-policy"], "\"sdk_key\";q=1;w=1");
    assert_eq!(track(&other, "192.0.2.3").await.0, 200, "another key has its own");
    let api = Client::new(&server.url, Some(&token));
    for _ in 0..70 {
        api.post("/events/track", &event, 200).await;
    }
}
