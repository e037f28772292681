//! `provider = "smtp"`: a mail server.

use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de::Error as _};
use url::Url;

use crate::settings::{Headers, text};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SmtpSettings {
    /// The server: `smtp://` (TLS if offered, or always with `?tls=required`) or `smtps://`, with its
    /// credentials.
    #[serde(deserialize_with = "address")]
    pub(crate) url: SecretString,
    /// The sender of messages without one.
    pub(crate) from: Option<String>,
    /// Headers of every message.
    #[serde(default)]
    pub(crate) headers: Headers,
    /// The name in `EHLO`; default: the system's.
    pub(crate) hello: Option<String>,
    /// Connections at the same time.
    #[serde(default = "connections", deserialize_with = "text::count")]
    pub(crate) connections: usize,
    /// Seconds for a message, from waiting for a connection to the server's answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub(crate) timeout_seconds: usize,
    /// The domain of bounces: each message gets its own return path in it. Default: bounces go to the sender.
    pub(crate) bounce_domain: Option<String>,
    pub(crate) dkim: Option<DkimSettings>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DkimSettings {
    /// The signing domain: the sender's, or a parent of it.
    pub(crate) domain: String,
    /// The selector of the published key: `<selector>._domainkey.<domain>`.
    pub(crate) selector: String,
    /// The private key: RSA or Ed25519 in PEM, or the 32 bytes of an Ed25519 seed in base64.
    pub(crate) key: Option<SecretString>,
    /// The file with the key.
    pub(crate) key_file: Option<PathBuf>,
}

fn connections() -> usize {
    32
}

fn timeout_seconds() -> usize {
    20
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_smtp = Url::parse(&text).is_ok_and(|url| {
        matches!(url.scheme(), "smtp" | "smtps")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && url.query_pairs().all(|pair| pair == ("tls".into(), "required".into()))
    });
    if is_smtp {
        Ok(text.into())
    } else {
        Err(D::Error::custom("`url` must be smtp://host, smtp://host?tls=required or smtps://host"))
    }
}
