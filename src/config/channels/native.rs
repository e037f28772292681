//! `provider = "native"`: push notifications by the services of the platforms themselves, a table each.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use super::text;

/// `provider = "native"`: at least one of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Native {
    /// Android; and whatever has no table of its own.
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
    /// The service account's key: the JSON that Google gives.
    pub service_account: Option<SecretString>,
    /// The file with it.
    pub service_account_file: Option<PathBuf>,
    /// The project; default: the key's.
    pub project_id: Option<String>,
    /// Seconds an answer is awaited.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub timeout_seconds: usize,
}

/// `[channels.push.apns]`: Apple Push Notification service.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apns {
    /// Where it listens; `https://api.sandbox.push.apple.com` for builds under development.
    #[serde(default = "apns_url", deserialize_with = "text::web_address")]
    pub url: SecretString,
    pub team_id: String,
    pub key_id: String,
    /// The app: its bundle id.
    pub topic: String,
    /// The private key: the text of the `.p8` that Apple gives.
    pub key: Option<SecretString>,
    /// The file with it.
    pub key_file: Option<PathBuf>,
    /// Seconds an answer is awaited.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub timeout_seconds: usize,
}

/// `[channels.push.web_push]`: the push services of browsers (RFC 8030).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebPush {
    /// The private key by which they know us (RFC 8292): PEM, or the 32 bytes in base64url.
    pub vapid_key: Option<SecretString>,
    /// The file with it.
    pub vapid_key_file: Option<PathBuf>,
    /// Whom they may turn to: `mailto:…` or `https://…`.
    pub subject: String,
    /// Seconds an answer is awaited.
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
