//! `[callbacks]`: delivery reports and replies from providers. Callbacks of a provider without credentials
//! here are refused, since they cannot be authenticated.

use std::{net::SocketAddr, path::PathBuf};

use secrecy::SecretString;
use serde::Deserialize;

/// Callbacks about sent messages.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callbacks {
    /// Consecutive soft bounces after which an address counts as invalid; 0: never.
    #[serde(default)]
    pub soft_bounce_limit: u32,
    /// Twilio's auth token, which signs its callbacks.
    pub twilio_auth_token: Option<SecretString>,
    pub whatsapp: Option<WhatsappCallbacks>,
    /// The credentials that Infobip sends.
    pub infobip: Option<BasicCredentials>,
    /// Amazon SES, by SNS.
    pub ses: Option<Ses>,
    pub sendgrid: Option<Sendgrid>,
    /// The credentials that Postmark sends.
    pub postmark: Option<BasicCredentials>,
    pub mailgun: Option<Mailgun>,
    pub resend: Option<Resend>,
    /// Own gateways, and mail servers that forward bounces.
    pub generic: Option<GenericCallbacks>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatsappCallbacks {
    /// The app's secret, which signs its callbacks.
    pub app_secret: SecretString,
    /// The token that Meta sends when it verifies the callback URL.
    pub verify_token: SecretString,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicCredentials {
    pub username: String,
    pub password: SecretString,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ses {
    /// The topics of this deployment: Amazon signs those of all its customers.
    pub topic_arns: Vec<String>,
    /// Amazon's signing certificate as PEM, if it cannot be downloaded.
    pub certificate: Option<PathBuf>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sendgrid {
    /// The verification key as SendGrid displays it: base64 of an ECDSA P-256 key.
    pub public_key: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mailgun {
    /// The HTTP webhook signing key.
    pub signing_key: SecretString,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resend {
    /// The signing secret, `whsec_…`.
    pub secret: SecretString,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenericCallbacks {
    /// The signing secret (Standard Webhooks): `whsec_` and base64, or any text.
    pub secret: SecretString,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inbound {
    /// Address where bounces are accepted by SMTP or LMTP; none: they are not.
    pub listen: Option<SocketAddr>,
}
