//! `provider = "native"`: push notifications by the platforms' own services, a table each.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use super::text;

/// `provider = "native"`: at least one of the services.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Native {
    /// Android, and platforms without a table here.
    pub fcm: Option<Fcm>,
    pub apns: Option<Apns>,
    pub web_push: Option<WebPush>,
}

/// `[channels.push.fcm]`: Firebase Cloud Messaging.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fcm {
    #[serde(default = "fcm_url", deserialize_with = "text::web_address")]
    pub url: SecretString,
    /// The service account's key: the JSON from Google.
    pub service_account: Option<SecretString>,
    /// The file with that JSON.
    pub service_account_file: Option<PathBuf>,
    /// The project; default: that of the key.
    pub project_id: Option<String>,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub timeout_seconds: usize,
}

/// `[channels.push.apns]`: Apple Push Notification service.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apns {
    /// The service's URL; `https://api.sandbox.push.apple.com` for development builds.
    #[serde(default = "apns_url", deserialize_with = "text::web_address")]
    pub url: SecretString,
    pub team_id: String,
    pub key_id: String,
    /// The app's bundle id.
    pub topic: String,
    /// The private key: the text of Apple's `.p8` file.
    pub key: Option<SecretString>,
    /// The file with the key.
    pub key_file: Option<PathBuf>,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub timeout_seconds: usize,
}

/// `[channels.push.web_push]`: the push services of browsers (RFC 8030).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebPush {
    /// The private key that identifies this server (RFC 8292): PEM, or the 32 bytes in base64url.
    pub vapid_key: Option<SecretString>,
    /// The file with the key.
    pub vapid_key_file: Option<PathBuf>,
    /// The operator's contact for push services: `mailto:…` or `https://…`.
    pub subject: String,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub timeout_seconds: usize,
}

fn fcm_url() -> SecretString {
    "https://fcm.googleapis.com".into()
}

fn apns_url() -> SecretString {
    "https://api.push.apple.com".into()
}

fn timeout_seconds() -> usize {
    15
}
