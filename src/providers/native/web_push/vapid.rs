//! How push services know us: RFC 8292.

use std::{collections::HashMap, time::Duration};

use anyhow::Context as _;
use base64::Engine as _;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use kernel::Timestamp;
use p256::{
    SecretKey, elliptic_curve::sec1::ToEncodedPoint as _, pkcs8::DecodePrivateKey as _,
    pkcs8::EncodePrivateKey as _,
};
use parking_lot::Mutex;
use serde::Serialize;
use url::Url;

use super::BASE64URL;

/// Validity of a token: RFC 8292 2 allows a day.
const TOKEN_VALIDITY: Duration = Duration::from_hours(12);
/// A token is replaced this long before it expires.
const RENEWAL_MARGIN: Duration = Duration::from_hours(1);
/// Push services whose tokens are kept; there are a handful, but browsers say which.
const SERVICES_MAX: usize = 256;

/// Our key and what it signed.
pub(super) struct Vapid {
    key: EncodingKey,
    /// The public key, base64url.
    public: String,
    subject: String,
    tokens: Mutex<HashMap<String, Token>>,
}

struct Token {
    text: String,
    expires: Timestamp,
}

#[derive(Serialize)]
struct Claims<'a> {
    aud: &'a str,
    exp: i64,
    sub: &'a str,
}

impl Vapid {
    /// Takes the private key: PEM, or the number itself in base64url.
    pub(super) fn new(key: &str, subject: String) -> anyhow::Result<Self> {
        if !subject.starts_with("mailto:") && !subject.starts_with("https://") {
            anyhow::bail!("`subject` must begin with mailto: or https://");
        }
        let key = key.trim();
        let secret = if key.starts_with("-----") {
            SecretKey::from_pkcs8_pem(key).ok().or_else(|| SecretKey::from_sec1_pem(key).ok())
        } else {
            BASE64URL.decode(key).ok().and_then(|bytes| SecretKey::from_slice(&bytes).ok())
        };
        let secret = secret.context(
            "`vapid_key` must be a private key of P-256: PEM, or its 32 bytes in base64url",
        )?;
        let der = secret.to_pkcs8_der().map_err(|_| anyhow::anyhow!("`vapid_key` is no key"))?;
        Ok(Self {
            key: EncodingKey::from_ec_der(der.as_bytes()),
            public: BASE64URL.encode(secret.public_key().to_encoded_point(false).as_bytes()),
            subject,
            tokens: Mutex::new(HashMap::new()),
        })
    }

    /// The value of `Authorization` for an endpoint's service.
    pub(super) fn credentials(&self, endpoint: &Url, now: Timestamp) -> Option<String> {
        let service = endpoint.origin().ascii_serialization();
        let mut tokens = self.tokens.lock();
        let kept = tokens.get(&service);
        if let Some(token) = kept.filter(|kept| kept.expires.duration_since(now) > RENEWAL_MARGIN) {
            return Some(self.written(&token.text));
        }
        let expires = now.after(TOKEN_VALIDITY);
        let claims = Claims { aud: &service, exp: expires.millis() / 1_000, sub: &self.subject };
        let text = jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &self.key).ok()?;
        let credentials = self.written(&text);
        if tokens.len() >= SERVICES_MAX {
            tokens.clear();
        }
        tokens.insert(service, Token { text, expires });
        Some(credentials)
    }

    fn written(&self, token: &str) -> String {
        format!("vapid t={token}, k={}", self.public)
    }
}

impl std::fmt::Debug for Vapid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vapid").field("subject", &self.subject).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The private key of RFC 8291's example, and the public one that belongs to it.
    const PRIVATE: &str = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";
    const PUBLIC: &str =
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";

    fn vapid(key: &str) -> anyhow::Result<Vapid> {
        Vapid::new(key, "mailto:a@example.test".to_owned())
    }

    #[test]
    fn a_key_is_read_in_every_form_it_is_written_in() {
        let secret = SecretKey::from_slice(&BASE64URL.decode(PRIVATE).unwrap()).unwrap();
        let pkcs8 = secret.to_pkcs8_pem(p256::pkcs8::LineEnding::LF).unwrap();
        let sec1 = secret.to_sec1_pem(p256::pkcs8::LineEnding::LF).unwrap();
        for key in [PRIVATE, &format!(" {PRIVATE}=\n"), &pkcs8, &sec1] {
            assert_eq!(vapid(key).unwrap().public, PUBLIC);
        }
        for key in ["", "x", "AAAA", "-----BEGIN PRIVATE KEY-----", PUBLIC] {
            let error = vapid(key).unwrap_err().to_string();
            assert!(error.starts_with("`vapid_key` must be"), "{error}");
        }
        let error = Vapid::new(PRIVATE, "a@example.test".to_owned()).unwrap_err();
        assert!(error.to_string().contains("mailto:"));
    }

    #[test]
    fn a_token_is_kept_for_its_service_until_it_is_about_to_expire() {
        let vapid = vapid(PRIVATE).unwrap();
        let (a, b) = ("https://a.test:8443/1/x?y", "https://b.test/1");
        let at = |url: &str, now| vapid.credentials(&url.parse().unwrap(), now).unwrap();
        let issued = Timestamp::from_millis(0);
        let renewal = issued.after(TOKEN_VALIDITY).before(RENEWAL_MARGIN);
        let first = at(a, issued);
        assert!(first.starts_with("vapid t=") && first.ends_with(&format!(", k={PUBLIC}")));
        assert_eq!(at("https://a.test:8443/2", renewal.before(Duration::from_millis(1))), first);
        assert_ne!(at(a, renewal), first);
        assert_ne!(at(b, issued), first);
    }

    #[test]
    fn tokens_of_made_up_services_do_not_pile_up() {
        let vapid = vapid(PRIVATE).unwrap();
        for n in 0..=SERVICES_MAX {
            let url = format!("https://{n}.test/").parse().unwrap();
            vapid.credentials(&url, Timestamp::from_millis(0)).unwrap();
        }
        assert_eq!(vapid.tokens.lock().len(), 1);
    }
}
