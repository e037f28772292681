//! Push notifications: routing of devices to services, and rules common to all.

use std::sync::Arc;

use campaigns::model::message::MessageChannel;
use p256::pkcs8::EncodePrivateKey as _;
use providers::{
    Provider, Sent,
    model::{Content, Device, Outcome, Outgoing, Platform, PushContent},
};
use serde_json::json;

use super::{
    apns::Apple, fcm::Google, message, provider_of, settings, simulator::Simulator, vault,
    web_push::Browser,
};

/// A notification with everything in it.
pub(super) fn whole() -> PushContent {
    PushContent {
        title: Some("Sale".to_owned()),
        body: "Today only".to_owned(),
        icon: Some("ic_bell".to_owned()),
        image: Some("https://x.test/a.png".to_owned()),
        deep_link: Some("https://x.test/sale".to_owned()),
        data: json!({ "sku": "A-1", "n": 5, "deep": { "a": [1] } }).as_object().unwrap().clone(),
        ttl_seconds: Some(3_600),
        high_priority: true,
        collapse_key: Some("sale".to_owned()),
    }
}

pub(super) fn device(platform: Platform, token: &str) -> Device {
    Device { token: token.to_owned(), platform, p256dh: None, auth: None }
}

/// A notification for these devices.
pub(super) fn to(content: PushContent, devices: &[Device]) -> Outgoing {
    Outgoing { devices: devices.to_vec(), ..message("ann", Content::Push(content)) }
}

/// The provider with these settings.
pub(super) fn native(variables: &[(&str, &str)]) -> Arc<dyn Provider> {
    let variables = [&[("MILLRACE_CHANNELS__PUSH__PROVIDER", "native")], variables].concat();
    provider_of(&variables, MessageChannel::Push)
}

pub(super) async fn send(provider: &dyn Provider, message: Outgoing) -> Sent {
    let mut sent = provider.send(std::slice::from_ref(&message)).await;
    assert_eq!(sent.len(), 1);
    sent.remove(0)
}

/// A private key of P-256 as Apple gives it.
pub(super) fn ec_key() -> (p256::SecretKey, String) {
    let secret = p256::SecretKey::from_slice(&[7; 32]).unwrap();
    let pem = secret.to_pkcs8_pem(p256::pkcs8::LineEnding::LF).unwrap().to_string();
    (secret, pem)
}

#[tokio::test]
async fn each_device_is_reached_by_the_service_of_its_platform() {
    let (google, apple) = (Google::start().await, Apple::start().await);
    let browser = Browser::start(|_| super::simulator::Reply::text(201, "")).await;
    let variables = [google.settings(), apple.settings(), Browser::settings()].concat();
    let variables: Vec<_> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let provider = native(&variables);
    let devices = [
        device(Platform::Android, "android"),
        device(Platform::Ios, "aa"),
        browser.device("1"),
        // A browser that registered with FCM has no keys.
        device(Platform::Web, "web"),
    ];
    let sent = send(&*provider, to(whole(), &devices)).await;
    assert!(matches!(sent.outcome, Outcome::Accepted { is_delivered: true, .. }), "{sent:?}");
    assert_eq!(sent.gone, []);
    let mut by_google: Vec<_> = google.tokens();
    by_google.sort();
    assert_eq!(by_google, ["android", "web"]);
    assert_eq!(apple.tokens(), ["aa"]);
    assert_eq!(browser.simulator.seen().len(), 1);

    // What has no service of its own goes by FCM; what cannot does not go.
    let settings = google.settings();
    let settings: Vec<_> = settings.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let only_google = native(&settings);
    let sent = send(&*only_google, to(whole(), &devices[1..2])).await;
    assert!(matches!(sent.outcome, Outcome::Accepted { .. }));
    let sent = send(&*only_google, to(whole(), &devices[2..3])).await;
    assert!(matches!(sent.outcome, Outcome::Rejected { code, .. } if code == "no_provider"));
    assert_eq!(sent.gone, []);
    let sent = send(&*only_google, to(whole(), &[])).await;
    assert!(matches!(sent.outcome, Outcome::Rejected { code, .. } if code == "no_device"));
}

#[tokio::test]
async fn a_push_succeeds_with_one_device_and_names_unregistered_ones() {
    let google = Google::start().await;
    let variables = google.settings();
    let variables: Vec<_> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let provider = native(&variables);
    let devices =
        ["unregistered", "ok", "busy", "malformed"].map(|token| device(Platform::Android, token));
    let sent = send(&*provider, to(whole(), &devices)).await;
    assert!(matches!(sent.outcome, Outcome::Accepted { .. }), "{sent:?}");
    assert_eq!(sent.gone, [devices[0].clone(), devices[3].clone()]);
    let sent = send(&*provider, to(whole(), &devices[2..])).await;
    assert!(matches!(sent.outcome, Outcome::Retry { .. }), "{sent:?}");
    assert_eq!(sent.gone, [devices[3].clone()]);
}

#[tokio::test]
async fn unusable_push_settings_are_refused_by_name() {
    let simulator = Simulator::start(|_| super::simulator::Reply::text(500, "")).await;
    let account =
        r#"{"project_id":"p","private_key":"x","client_email":"a","token_uri":"http://h"}"#;
    for (more, problem) in [
        (vec![], "at least one of the tables"),
        (vec![("FCM__URL", simulator.url.as_str())], "one of `service_account` and"),
        (vec![("FCM__SERVICE_ACCOUNT", "{}")], "must be the JSON of a service account's key"),
        (vec![("FCM__SERVICE_ACCOUNT", account)], "`private_key` of `service_account`"),
        (vec![("FCM__SERVICE_ACCOUNT_FILE", "/nonexistent")], "cannot read `service_account_file`"),
        (
            vec![
                ("APNS__TEAM_ID", "T"),
                ("APNS__KEY_ID", "K"),
                ("APNS__TOPIC", "t"),
                ("APNS__KEY", "x"),
            ],
            "`key` must be the text of a .p8 file",
        ),
        (
            vec![("WEB_PUSH__VAPID_KEY", "x"), ("WEB_PUSH__SUBJECT", "mailto:a@b.test")],
            "`vapid_key` must be a private key",
        ),
    ] {
        let names: Vec<_> =
            more.iter().map(|(name, _)| format!("MILLRACE_CHANNELS__PUSH__{name}")).collect();
        let mut variables = vec![("MILLRACE_CHANNELS__PUSH__PROVIDER", "native")];
        variables.extend(names.iter().zip(&more).map(|(name, (_, value))| (name.as_str(), *value)));
        let clock = kernel::Clock::system();
        let refused = providers::Providers::from_settings(&settings(&variables), vault(), clock);
        let refusal = format!("{:#}", refused.unwrap_err());
        assert!(refusal.contains("channels.push") && refusal.contains(problem), "{refusal}");
    }
}
