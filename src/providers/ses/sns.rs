//! Amazon SNS: envelopes around what SES says, signed by a certificate of Amazon's.
//!
//! Amazon signs the envelopes of all its customers, so the topic must be one of this deployment's, too.

use std::time::Duration;

use aws_lc_rs::signature::{
    RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kernel::Timestamp;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use serde::Deserialize;
use url::Url;

use crate::callback::{Unproven, near};

/// How old an envelope may be: Amazon's advice. It is the time of the message, not of this try, and Amazon
/// tries again for as long.
const AGE_MAX: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Envelope {
    #[serde(rename = "Type")]
    kind: String,
    message_id: String,
    topic_arn: String,
    message: String,
    timestamp: String,
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    token: Option<String>,
    #[serde(default, rename = "SubscribeURL")]
    subscribe_url: Option<String>,
    #[serde(default)]
    signature_version: String,
    #[serde(default)]
    signature: String,
    #[serde(default, rename = "SigningCertURL")]
    signing_cert_url: String,
}

/// What an envelope is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Notification,
    /// Amazon asks for a confirmation of the subscription: a call of this URL.
    SubscriptionConfirmation(Url),
    /// Any other envelope; it is ignored.
    Other,
}

/// An envelope whose signature is not checked yet.
#[derive(Debug, Clone)]
pub(super) struct Unsigned(Envelope);

impl Unsigned {
    /// Reads an envelope.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body).map(Self)
    }

    /// Where the certificate is, if that is with Amazon.
    pub(super) fn certificate_url(&self) -> Option<Url> {
        let url = amazon(&self.0.signing_cert_url)?;
        let is_certificate =
            std::path::Path::new(url.path()).extension().is_some_and(|end| end == "pem");
        is_certificate.then_some(url)
    }

    /// Checks the envelope.
    ///
    /// # Errors
    /// Why it is not authentic.
    pub(super) fn proven(
        self,
        certificate: &Certificate,
        topics: &[String],
        now: Timestamp,
    ) -> Result<Envelope, Unproven> {
        let envelope = self.0;
        if envelope.signature.is_empty() {
            return Err(Unproven::Missing);
        }
        let signature = STANDARD.decode(&envelope.signature).map_err(|_| Unproven::Wrong)?;
        let signed = envelope.signed().ok_or(Unproven::Wrong)?;
        let algorithm = match envelope.signature_version.as_str() {
            "1" => &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            "2" => &RSA_PKCS1_2048_8192_SHA256,
            _ => return Err(Unproven::Wrong),
        };
        UnparsedPublicKey::new(algorithm, &certificate.key)
            .verify(signed.as_bytes(), &signature)
            .map_err(|_| Unproven::Wrong)?;
        if !topics.contains(&envelope.topic_arn) {
            return Err(Unproven::Wrong);
        }
        let at = Timestamp::parse(&envelope.timestamp).map_err(|_| Unproven::Wrong)?;
        near(now, at, AGE_MAX)?;
        Ok(envelope)
    }
}

impl Envelope {
    /// What it is for.
    pub(super) fn kind(&self) -> Kind {
        match self.kind.as_str() {
            "Notification" => Kind::Notification,
            "SubscriptionConfirmation" => {
                let url = self.subscribe_url.as_deref().and_then(amazon);
                url.map_or(Kind::Other, Kind::SubscriptionConfirmation)
            }
            _ => Kind::Other,
        }
    }

    /// What is in it.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The text that is signed: chosen fields by name, each name and value a line.
    fn signed(&self) -> Option<String> {
        let token = self.token.as_deref();
        let url = self.subscribe_url.as_deref();
        let fields: Vec<(&str, &str)> = match self.kind.as_str() {
            "Notification" => [
                Some(("Message", self.message.as_str())),
                Some(("MessageId", &self.message_id)),
                self.subject.as_deref().map(|subject| ("Subject", subject)),
                Some(("Timestamp", &self.timestamp)),
                Some(("TopicArn", &self.topic_arn)),
                Some(("Type", &self.kind)),
            ]
            .into_iter()
            .flatten()
            .collect(),
            "SubscriptionConfirmation" | "UnsubscribeConfirmation" => vec![
                ("Message", &self.message),
                ("MessageId", &self.message_id),
                ("SubscribeURL", url?),
                ("Timestamp", &self.timestamp),
                ("Token", token?),
                ("TopicArn", &self.topic_arn),
                ("Type", &self.kind),
            ],
            _ => return None,
        };
        let mut text = String::new();
        for (name, value) in fields {
            for part in [name, "\n", value, "\n"] {
                text.push_str(part);
            }
        }
        Some(text)
    }
}

/// An address at Amazon SNS: `https://sns.<region>.amazonaws.com/…`.
fn amazon(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?;
    let region = host.strip_prefix("sns.")?;
    let region = region
        .strip_suffix(".amazonaws.com")
        .or_else(|| region.strip_suffix(".amazonaws.com.cn"))?;
    let is_region = !region.is_empty()
        && region.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let is_plain = url.scheme() == "https"
        && url.port().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    (is_region && is_plain).then_some(url)
}

/// A certificate, reduced to its RSA key.
#[derive(Debug, Clone)]
pub(super) struct Certificate {
    /// The key as PKCS #1 has it.
    key: Vec<u8>,
}

impl Certificate {
    /// Reads a certificate in PEM.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn read(pem: &[u8]) -> Result<Self, &'static str> {
        let der = CertificateDer::from_pem_slice(pem).map_err(|_| "is no certificate in PEM")?;
        let certificate = webpki::EndEntityCert::try_from(&der).map_err(|_| "is no certificate")?;
        let info = certificate.subject_public_key_info();
        let key = rsa_key(info.as_ref()).ok_or("has no RSA key")?;
        Ok(Self { key: key.to_vec() })
    }
}

/// The RSA key in a SubjectPublicKeyInfo (RFC 5280 4.1, RFC 3279 2.3.1):
/// `SEQUENCE { SEQUENCE { OID rsaEncryption, NULL }, BIT STRING { 0 unused bits, key } }`.
fn rsa_key(info: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const BIT_STRING: u8 = 0x03;
    const RSA_ENCRYPTION: [u8; 13] =
        [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
    let (info, _) = element(info, SEQUENCE)?;
    let (algorithm, rest) = element(info, SEQUENCE)?;
    let (bits, _) = element(rest, BIT_STRING)?;
    let key = bits.strip_prefix(&[0])?;
    (algorithm == RSA_ENCRYPTION).then_some(key)
}

/// The contents of a DER element, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = match first {
        0x00..=0x7f => (usize::from(first), rest),
        0x81 => {
            let (&[one], rest) = rest.split_first_chunk::<1>()?;
            (usize::from(one), rest)
        }
        0x82 => {
            let (two, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*two)), rest)
        }
        _ => return None,
    };
    (found == tag).then_some(())?;
    rest.split_at_checked(length)
}
