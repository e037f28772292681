//! How those who call prove who they are. Comparisons take the same time whatever is wrong.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac as _};
use kernel::Timestamp;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// How old a call may be, and how far ahead of our clock (DECISIONS G18).
pub(super) const AGE_MAX: Duration = Duration::from_mins(5);
/// The front of a secret that is base64 (Standard Webhooks).
const SECRET_PREFIX: &str = "whsec_";
/// Signatures in one header; while secrets are changed there are two.
const SIGNATURES_MAX: usize = 10;
/// A P-256 key in DER, up to its point (RFC 5480).
const P256_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// Bytes of a P-256 signature in DER at most.
const P256_SIGNATURE_BYTES_MAX: usize = 72;
/// Bytes of an uncompressed point.
const P256_POINT_BYTES: usize = 65;

/// Why nobody is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// There is nothing that would prove it.
    #[error("not signed")]
    Missing,
    /// What there is does not.
    #[error("wrongly signed")]
    Wrong,
    /// It did, some time ago.
    #[error("signed too long ago")]
    Stale,
}

/// A secret that is shared with whoever signs.
#[derive(Debug, Clone)]
pub struct Secret(SecretSlice<u8>);

impl Secret {
    /// Reads a setting: `whsec_` and base64, or any other text as it is.
    ///
    /// # Errors
    /// The complaint, without the secret.
    pub fn read(text: &SecretString) -> Result<Self, &'static str> {
        let text = text.expose_secret();
        let bytes = match text.strip_prefix(SECRET_PREFIX) {
            Some(encoded) => STANDARD.decode(encoded).map_err(|_| "is not base64 after whsec_")?,
            None => text.as_bytes().to_vec(),
        };
        if bytes.is_empty() { Err("must not be empty") } else { Ok(Self(bytes.into())) }
    }

    /// A hash by this secret, begun.
    pub(super) fn hash(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(self.0.expose_secret()).expect("HMAC takes keys of any length")
    }
}

/// Bytes of an HMAC-SHA256.
const SHA256_BYTES: usize = 32;

/// Judges what a call signed by Standard Webhooks says of its signature, before its body is read: whether it
/// could be right.
///
/// # Errors
/// Why it cannot.
pub fn standard_head(
    now: Timestamp,
    (id, timestamp, signatures): (&str, &str, &str),
) -> Result<(), Unproven> {
    if id.is_empty() || timestamp.is_empty() || signatures.is_empty() {
        return Err(Unproven::Missing);
    }
    let has_shape = signatures
        .split(' ')
        .take(SIGNATURES_MAX)
        .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok())
        .any(|signature| signature.len() == SHA256_BYTES);
    if !has_shape {
        return Err(Unproven::Wrong);
    }
    fresh(now, timestamp, AGE_MAX)
}

/// Judges a call signed by Standard Webhooks: `v1,<base64 of HMAC-SHA256(id.timestamp.body)>`.
///
/// # Errors
/// Why it is not believed.
pub fn standard(
    secret: &Secret,
    now: Timestamp,
    (id, timestamp, signatures): (&str, &str, &str),
    body: &[u8],
) -> Result<(), Unproven> {
    if id.is_empty() || timestamp.is_empty() || signatures.is_empty() {
        return Err(Unproven::Missing);
    }
    let mut hash = secret.hash();
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        hash.update(part);
    }
    let signed = signatures
        .split(' ')
        .take(SIGNATURES_MAX)
        .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok())
        .any(|signature| hash.clone().verify_slice(&signature).is_ok());
    if !signed {
        return Err(Unproven::Wrong);
    }
    fresh(now, timestamp, AGE_MAX)
}

/// Judges a time in seconds since 1970.
pub(super) fn fresh(now: Timestamp, seconds: &str, age_max: Duration) -> Result<(), Unproven> {
    let seconds: i64 = seconds.parse().map_err(|_| Unproven::Wrong)?;
    let at_ms = seconds.checked_mul(1000).ok_or(Unproven::Wrong)?;
    near(now, Timestamp::from_millis(at_ms), age_max)
}

pub(super) fn near(now: Timestamp, at: Timestamp, age_max: Duration) -> Result<(), Unproven> {
    let apart_ms = u128::from(now.millis().abs_diff(at.millis()));
    if apart_ms <= age_max.as_millis() { Ok(()) } else { Err(Unproven::Stale) }
}

#[derive(Debug, Clone)]
pub struct SigningKey([u8; P256_POINT_BYTES]);

impl SigningKey {
    /// Reads the setting: base64 of the key in DER.
    ///
    /// # Errors
    /// The complaint.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let wrong = "must be a base64 ECDSA P-256 key, as SendGrid shows it";
        let der = STANDARD.decode(text.trim()).map_err(|_| wrong)?;
        let point = der.strip_prefix(&P256_HEAD).ok_or(wrong)?;
        point.try_into().map(Self).map_err(|_| wrong)
    }

    /// Judges what a call says of its signature, before its body is read: whether it could be right.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn head(now: Timestamp, (timestamp, signature): (&str, &str)) -> Result<(), Unproven> {
        if timestamp.is_empty() || signature.is_empty() {
            return Err(Unproven::Missing);
        }
        let signature = STANDARD.decode(signature).map_err(|_| Unproven::Wrong)?;
        if !(1..=P256_SIGNATURE_BYTES_MAX).contains(&signature.len()) {
            return Err(Unproven::Wrong);
        }
        fresh(now, timestamp, AGE_MAX)
    }

    /// Judges a call: base64 of an ECDSA signature of timestamp and body.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn proves(
        &self,
        now: Timestamp,
        (timestamp, signature): (&str, &str),
        body: &[u8],
    ) -> Result<(), Unproven> {
        if timestamp.is_empty() || signature.is_empty() {
            return Err(Unproven::Missing);
        }
        let signature = STANDARD.decode(signature).map_err(|_| Unproven::Wrong)?;
        let signed = [timestamp.as_bytes(), body].concat();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0)
            .verify(&signed, &signature)
            .map_err(|_| Unproven::Wrong)?;
        fresh(now, timestamp, AGE_MAX)
    }
}

/// A name and a password, as `Authorization: Basic` has them.
#[derive(Debug, Clone)]
pub struct Basic(SecretString);

impl Basic {
    pub fn new(username: &str, password: &SecretString) -> Self {
        Self(format!("{username}:{}", password.expose_secret()).into())
    }

    /// Judges the header.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn proves(&self, authorization: &str) -> Result<(), Unproven> {
        let (scheme, encoded) = authorization.split_once(' ').ok_or(Unproven::Missing)?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return Err(Unproven::Missing);
        }
        let said = STANDARD.decode(encoded.trim()).map_err(|_| Unproven::Wrong)?;
        let is_right = said.ct_eq(self.0.expose_secret().as_bytes());
        if bool::from(is_right) { Ok(()) } else { Err(Unproven::Wrong) }
    }
}
