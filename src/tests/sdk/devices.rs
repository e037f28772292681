//! `/v1/devices`: devices that receive a person's push notifications.

use delivery::ops::devices::{DEVICES_PER_USER_MAX, of_users};
use kernel::UserId;
use serde_json::json;

use super::{Device, person};
use crate::kit::{Workspace, server, unique};

/// The tokens of a person's devices, the one registered last first.
async fn tokens(workspace: &Workspace, user: &str) -> Vec<String> {
    let (db, id) = (server().db(), workspace.id);
    let user: UserId = user.parse().unwrap();
    server()
        .on(async move {
            let mut connection = db.acquire().await.unwrap();
            let mut devices = of_users(&mut connection, id, &[user]).await.unwrap();
            devices.remove(&user).unwrap_or_default().into_iter().map(|it| it.token).collect()
        })
        .await
}

#[tokio::test]
async fn a_device_belongs_to_its_last_registration() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, ann_id) = person(&workspace, json!({})).await;
    let (bob, bob_id) = person(&workspace, json!({})).await;
    let token = unique("fcm:token");
    let body = json!({"userId": ann, "token": token, "platform": "android", "appId": "shop"});
    let device = device.by(&ann);
    let made = device.post("/v1/devices", &body, 201).await.json();
    assert_eq!(made, json!({"token": token, "platform": "android", "appId": "shop"}));
    device.post("/v1/devices", &body, 200).await;
    assert_eq!(tokens(&workspace, &ann_id).await, std::slice::from_ref(&token));
    let by_internal_id = json!({"userId": bob_id, "token": token, "platform": "android"});
    let device = device.by(&bob);
    device.post("/v1/devices", &by_internal_id, 200).await;
    assert!(tokens(&workspace, &ann_id).await.is_empty());
    assert_eq!(tokens(&workspace, &bob_id).await, std::slice::from_ref(&token));
    let path = format!("/v1/devices/{}", token.replace(':', "%3A"));
    device.delete(&path, 200).await;
    device.delete(&path, 404).await;
    assert!(tokens(&workspace, &bob_id).await.is_empty());
}

#[tokio::test]
async fn one_device_too_many_replaces_the_oldest() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, id) = person(&workspace, json!({})).await;
    let device = device.by(&ann);
    let most = usize::try_from(DEVICES_PER_USER_MAX).unwrap();
    for number in 0..=most {
        let body = json!({"userId": ann, "token": format!("t{number}"), "platform": "ios"});
        device.post("/v1/devices", &body, 201).await;
        assert_eq!(tokens(&workspace, &id).await.len(), (number + 1).min(most));
    }
    let kept = tokens(&workspace, &id).await;
    assert!(kept.contains(&"t1".to_owned()) && !kept.contains(&"t0".to_owned()), "{kept:?}");
}

#[tokio::test]
async fn a_browser_is_registered_by_its_subscription() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, id) = person(&workspace, json!({})).await;
    let device = device.by(&ann);
    let endpoint = format!("https://push.example/send/{}", unique("x"));
    // RFC 8291, appendix A.
    let keys = json!({
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4=",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    });
    let body = json!({"userId": ann, "subscription": {"endpoint": endpoint, "keys": keys}});
    device.post("/v1/devices", &body, 201).await;
    assert_eq!(tokens(&workspace, &id).await, std::slice::from_ref(&endpoint));
    let encoded: String = url::form_urlencoded::byte_serialize(endpoint.as_bytes()).collect();
    device.delete(&format!("/v1/devices/{encoded}"), 200).await;
}

#[tokio::test]
async fn an_invalid_device_is_refused_with_every_error() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({})).await;
    let device = device.by(&ann);
    let long = "t".repeat(2_048);
    let fits = json!({"userId": ann, "token": long, "platform": "ios"});
    device.post("/v1/devices", &fits, 201).await;
    let keys = json!({"p256dh": "AAAA", "auth": "!"});
    for (body, errors) in [
        (json!({}), &["userId is required", "either token or subscription is required"][..]),
        (json!({"userId": ann, "token": "t"}), &["platform is required with a token"]),
        (
            json!({"userId": ann, "token": format!("{long}t"), "platform": "ios"}),
            &["token must be at most 2048 characters"],
        ),
        (
            json!({"userId": ann, "token": "a b", "platform": "palm"}),
            &[
                "token must be of visible ASCII characters",
                "platform must be one of: ios, android, web",
            ],
        ),
        (
            json!({"userId": ann, "platform": "ios", "subscription": {"endpoint": "http://push.example", "keys": keys}}),
            &[
                "subscription.endpoint must be an https address",
                "subscription.keys.p256dh must be an uncompressed P-256 key of 65 bytes, base64url",
                "subscription.keys.auth must be 16 bytes, base64url",
                "platform must be web with a subscription",
            ],
        ),
    ] {
        assert_eq!(device.post("/v1/devices", &body, 400).await.errors(), errors, "{body}");
    }
    let unknown = json!({"userId": "unknown-user", "token": "t", "platform": "ios"});
    device.by("unknown-user").post("/v1/devices", &unknown, 404).await;
    let nul = json!({"userId": "a\u{0}b", "token": "t\u{0}", "platform": "ios"});
    device.post("/v1/devices", &nul, 400).await;
}

#[tokio::test]
async fn a_device_of_another_workspace_is_not_found() {
    let (here, there) = (Workspace::new().await, Workspace::new().await);
    let (device, other) = (Device::of(&here).await, Device::of(&there).await);
    let (ann, ann_id) = person(&here, json!({})).await;
    let token = unique("token");
    let body = json!({"userId": ann, "token": token, "platform": "ios"});
    device.by(&ann).post("/v1/devices", &body, 201).await;
    let other = other.by(&ann);
    other.delete(&format!("/v1/devices/{token}"), 404).await;
    for (user, status) in [(&ann, 404), (&ann_id, 403)] {
        let stolen = json!({"userId": user, "token": token, "platform": "ios"});
        other.post("/v1/devices", &stolen, status).await;
    }
    assert_eq!(tokens(&here, &ann_id).await, [token]);
}

#[tokio::test]
async fn the_devices_of_a_person_are_listed_for_servers() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, id) = person(&workspace, json!({})).await;
    let path = format!("/users/{id}/devices");
    assert_eq!(workspace.api.get(&path, 200).await.json(), json!({"data": []}));
    let device = device.by(&ann);
    for (token, platform) in [("first", "ios"), ("second", "android")] {
        let body = json!({"userId": ann, "token": token, "platform": platform, "appId": "shop"});
        device.post("/v1/devices", &body, 201).await;
    }
    let listed = workspace.api.get(&path, 200).await.json();
    let tokens: Vec<_> = listed["data"].as_array().unwrap().iter().map(|it| &it["token"]).collect();
    assert_eq!(tokens, ["second", "first"]);
    let last = &listed["data"][1];
    assert_eq!((&last["platform"], &last["appId"]), (&json!("ios"), &json!("shop")));
    let limited = workspace.with_scopes("users:write").await;
    assert!(limited.get(&path, 403).await.text.contains("users:read"));
    Workspace::new().await.api.get(&path, 404).await;
}
