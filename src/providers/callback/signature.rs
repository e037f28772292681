//! How callers authenticate themselves. Comparisons take constant time.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac as _};
use kernel::{Error, Timestamp};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use serde::Deserialize;
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// Longest distance of a call's time from this clock, to either side.
pub(crate) const AGE_MAX: Duration = Duration::from_mins(5);
/// The prefix of a secret that is base64 (Standard Webhooks).
const SECRET_PREFIX: &str = "whsec_";
/// Signatures in one header; there are two while a secret is rotated.
const SIGNATURES_MAX: usize = 10;
/// Why a call is not authentic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// It has no signature.
    #[error("not signed")]
    Missing,
    /// Its signature is wrong.
    #[error("wrongly signed")]
    Wrong,
    /// It was signed too long ago.
    #[error("signed too long ago")]
    Stale,
}

impl From<Unproven> for Error {
    fn from(unproven: Unproven) -> Self {
        Self::Unauthenticated(match unproven {
            Unproven::Missing => "The call is not signed",
            Unproven::Wrong => "The call's signature is wrong",
            Unproven::Stale => "The call was signed too long ago",
        })
    }
}

/// A secret that is shared with the caller.
#[derive(Debug, Clone)]
pub struct Secret(SecretSlice<u8>);

impl Secret {
    /// Reads a setting: `whsec_` and base64, or any other text as it is.
    ///
    /// # Errors
    /// What is wrong, without the secret.
    pub fn read(text: &SecretString) -> Result<Self, &'static str> {
        let text = text.expose_secret();
        let bytes = match text.strip_prefix(SECRET_PREFIX) {
            Some(encoded) => STANDARD.decode(encoded).map_err(|_| "is not base64 after whsec_")?,
            None => text.as_bytes().to_vec(),
        };
        if bytes.is_empty() { Err("must not be empty") } else { Ok(Self(bytes.into())) }
    }

    /// A new HMAC with this secret.
    pub(crate) fn hash(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(self.0.expose_secret()).expect("HMAC takes keys of any length")
    }
}

/// Bytes of an HMAC-SHA256.
const SHA256_BYTES: usize = 32;

/// The headers of a call signed by Standard Webhooks: `v1,<base64 of HMAC-SHA256(id.timestamp.body)>`.
#[derive(Debug, Clone, Copy)]
pub struct StandardHead<'c> {
    pub id: &'c str,
    pub timestamp: &'c str,
    /// Signatures by the current and the previous secret.
    pub signatures: &'c str,
}

impl StandardHead<'_> {
    /// Checks the headers before the body is read: whether the signature could be right.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check_shape(self, now: Timestamp) -> Result<(), Unproven> {
        if !self.is_complete() {
            return Err(Unproven::Missing);
        }
        if !self.decoded().any(|signature| signature.len() == SHA256_BYTES) {
            return Err(Unproven::Wrong);
        }
        fresh(now, self.timestamp, AGE_MAX)
    }

    /// Checks the signature of a body.
    ///
    /// # Errors
    /// Why it is not authentic.
    pub fn check(self, secret: &Secret, now: Timestamp, body: &[u8]) -> Result<(), Unproven> {
        if !self.is_complete() {
            return Err(Unproven::Missing);
        }
        let mut hash = secret.hash();
        for part in [self.id.as_bytes(), b".", self.timestamp.as_bytes(), b".", body] {
            hash.update(part);
        }
        if !self.decoded().any(|signature| hash.clone().verify_slice(&signature).is_ok()) {
            return Err(Unproven::Wrong);
        }
        fresh(now, self.timestamp, AGE_MAX)
    }

    const fn is_complete(self) -> bool {
        !self.id.is_empty() && !self.timestamp.is_empty() && !self.signatures.is_empty()
    }

    fn decoded(&self) -> impl Iterator<Item = Vec<u8>> {
        let signatures = self.signatures.split(' ').take(SIGNATURES_MAX);
        signatures.filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok())
    }
}

/// Checks a time in seconds since 1970.
pub(crate) fn fresh(now: Timestamp, seconds: &str, age_max: Duration) -> Result<(), Unproven> {
    let seconds: i64 = seconds.parse().map_err(|_| Unproven::Wrong)?;
    let at_ms = seconds.checked_mul(1000).ok_or(Unproven::Wrong)?;
    near(now, Timestamp::from_millis(at_ms), age_max)
}

pub(crate) fn near(now: Timestamp, at: Timestamp, age_max: Duration) -> Result<(), Unproven> {
    let apart_ms = u128::from(now.millis().abs_diff(at.millis()));
    if apart_ms <= age_max.as_millis() { Ok(()) } else { Err(Unproven::Stale) }
}

/// A name and a password in the settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicCredentials {
    pub username: String,
    pub password: SecretString,
}

/// A name and a password, as `Authorization: Basic` has them.
#[derive(Debug, Clone)]
pub struct Basic(SecretString);

impl Basic {
    pub fn from_settings(settings: &BasicCredentials) -> Self {
        Self::new(&settings.username, &settings.password)
    }

    pub fn new(username: &str, password: &SecretString) -> Self {
        Self(format!("{username}:{}", password.expose_secret()).into())
    }

    /// Checks the header `Authorization`.
    ///
    /// # Errors
    /// Why it is not authentic.
    pub fn check(&self, authorization: &str) -> Result<(), Unproven> {
        let (scheme, encoded) = authorization.split_once(' ').ok_or(Unproven::Missing)?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return Err(Unproven::Missing);
        }
        let sent = STANDARD.decode(encoded.trim()).map_err(|_| Unproven::Wrong)?;
        let is_right = sent.ct_eq(self.0.expose_secret().as_bytes());
        if bool::from(is_right) { Ok(()) } else { Err(Unproven::Wrong) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callback::test_kit::secret;

    fn check(
        key: &Secret,
        now: Timestamp,
        (id, timestamp, signatures): (&str, &str, &str),
        body: &[u8],
    ) -> Result<(), Unproven> {
        StandardHead { id, timestamp, signatures }.check(key, now, body)
    }

    #[test]
    fn a_standard_signature_holds_for_its_call_within_five_minutes() {
        // The example of the Standard Webhooks' and Svix' documentation.
        let key = Secret::read(&secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
        let (id, at, body) =
            ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#);
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let then = Timestamp::from_millis(1_614_265_330_000);
        assert_eq!(check(&key, then, (id, at, signature), body), Ok(()));
        let two = format!("v1,AAAA {signature} v2,x");
        assert_eq!(check(&key, then, (id, at, &two), body), Ok(()), "secrets are rotated");
        let wrong = |parts, body: &[u8]| check(&key, then, parts, body).unwrap_err();
        assert_eq!(wrong((id, at, signature), b"{}"), Unproven::Wrong);
        assert_eq!(wrong(("msg_2", at, signature), body), Unproven::Wrong);
        assert_eq!(wrong((id, "1614265331", signature), body), Unproven::Wrong);
        assert_eq!(wrong((id, at, "v1,"), body), Unproven::Wrong);
        assert_eq!(wrong((id, at, signature.trim_start_matches("v1,")), body), Unproven::Wrong);
        for missing in [("", at, signature), (id, "", signature), (id, at, "")] {
            assert_eq!(wrong(missing, body), Unproven::Missing);
        }
        let at_ms = |ms| check(&key, Timestamp::from_millis(ms), (id, at, signature), body);
        assert_eq!(at_ms(1_614_265_330_000 + 300_000), Ok(()));
        assert_eq!(at_ms(1_614_265_330_000 - 300_000), Ok(()), "clocks differ");
        assert_eq!(at_ms(1_614_265_330_000 + 300_001), Err(Unproven::Stale));
        assert_eq!(at_ms(1_614_265_330_000 - 300_001), Err(Unproven::Stale));
        for refused in ["", "whsec_", "whsec_not base64"] {
            assert!(Secret::read(&secret(refused)).is_err(), "{refused}");
        }
        assert!(Secret::read(&secret("any other text")).is_ok());
    }

    #[test]
    fn a_name_and_a_password_are_both_compared() {
        let basic = Basic::new("postmark", &secret("pass:word"));
        let header = |text: &str| format!("Basic {}", STANDARD.encode(text));
        assert_eq!(basic.check(&header("postmark:pass:word")), Ok(()));
        assert_eq!(basic.check(&header("postmark:password")), Err(Unproven::Wrong));
        assert_eq!(basic.check(&header("Postmark:pass:word")), Err(Unproven::Wrong));
        assert_eq!(basic.check("Basic ?"), Err(Unproven::Wrong));
        assert_eq!(basic.check("Bearer x"), Err(Unproven::Missing));
        assert_eq!(basic.check(""), Err(Unproven::Missing));
    }
}
