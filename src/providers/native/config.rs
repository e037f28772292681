//! `provider = "native"`: push notifications by the platforms' own services, a table each.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use crate::settings::text;

/// `provider = "native"`: at least one of the services.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NativeSettings {
    /// Android, and platforms without a table here.
    pub(crate) fcm: Option<FcmSettings>,
    pub(crate) apns: Option<ApnsSettings>,
    pub(crate) web_push: Option<WebPushSettings>,
}

/// `[channels.push.fcm]`: Firebase Cloud Messaging.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FcmSettings {
    #[serde(default = "fcm_url", deserialize_with = "text::web_address")]
    pub(crate) url: SecretString,
    /// The service account's key: the JSON from Google.
    pub(crate) service_account: Option<SecretString>,
    /// The file with that JSON.
    pub(crate) service_account_file: Option<PathBuf>,
    /// The project; default: that of the key.
    pub(crate) project_id: Option<String>,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub(crate) timeout_seconds: usize,
}

/// `[channels.push.apns]`: Apple Push Notification service.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApnsSettings {
    /// The service's URL; `https://api.sandbox.push.apple.com` for development builds.
    #[serde(default = "apns_url", deserialize_with = "text::web_address")]
    pub(crate) url: SecretString,
    pub(crate) team_id: String,
    pub(crate) key_id: String,
    /// The app's bundle id.
    pub(crate) topic: String,
    /// The private key: the text of Apple's `.p8` file.
    pub(crate) key: Option<SecretString>,
    /// The file with the key.
    pub(crate) key_file: Option<PathBuf>,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub(crate) timeout_seconds: usize,
}

/// `[channels.push.web_push]`: the push services of browsers (RFC 8030).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebPushSettings {
    /// The private key that identifies this server (RFC 8292): PEM, or the 32 bytes in base64url.
    pub(crate) vapid_key: Option<SecretString>,
    /// The file with the key.
    pub(crate) vapid_key_file: Option<PathBuf>,
    /// The operator's contact for push services: `mailto:…` or `https://…`.
    pub(crate) subject: String,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub(crate) timeout_seconds: usize,
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
