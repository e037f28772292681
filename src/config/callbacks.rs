//! `[callbacks]`: what may come back, and from whom. Without a secret nobody can prove who he is, so
//! nothing is heard from a provider that is not set up here.

use std::{net::SocketAddr, path::PathBuf};

use secrecy::SecretString;
use serde::Deserialize;

/// What is heard of messages after they left.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callbacks {
    /// Soft bounces in a row after which an address counts as one that does not exist; 0: never.
    #[serde(default)]
    pub soft_bounce_limit: u32,
    /// Twilio's auth token, which signs its callbacks.
    pub twilio_auth_token: Option<SecretString>,
    pub whatsapp: Option<WhatsappCallbacks>,
    /// Whom Infobip says it is.
    pub infobip: Option<BasicCredentials>,
    /// Amazon SES, by SNS.
    pub ses: Option<Ses>,
    pub sendgrid: Option<Sendgrid>,
    /// Whom Postmark says it is.
    pub postmark: Option<BasicCredentials>,
    pub mailgun: Option<Mailgun>,
    pub resend: Option<Resend>,
    /// Gateways of one's own, and mail servers that hand over what came back.
    pub generic: Option<GenericCallbacks>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatsappCallbacks {
    /// The app's secret, which signs its callbacks.
    pub app_secret: SecretString,
    /// What Meta says when it asks whether this is the place.
    pub verify_token: SecretString,
}

/// A name and a password.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicCredentials {
    pub username: String,
    pub password: SecretString,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ses {
    /// The topics that are ours: Amazon signs those of everybody.
    pub topic_arns: Vec<String>,
    /// The certificate that Amazon signs with, as PEM, where it cannot be fetched from them.
    pub certificate: Option<PathBuf>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sendgrid {
    /// The verification key as SendGrid shows it: base64 of an ECDSA P-256 key.
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
    /// What signs them (Standard Webhooks): `whsec_` and base64, or any text.
    pub secret: SecretString,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inbound {
    /// Where bounces are taken by SMTP or LMTP; none: they are not.
    pub listen: Option<SocketAddr>,
}
