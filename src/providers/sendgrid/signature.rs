//! The signature of SendGrid's event webhook.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kernel::Timestamp;

use crate::callback::{AGE_MAX, Unproven, fresh};

/// A P-256 key in DER, up to its point (RFC 5480).
const P256_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// Bytes of a P-256 signature in DER at most.
const P256_SIGNATURE_BYTES_MAX: usize = 72;
/// Bytes of an uncompressed point.
const P256_POINT_BYTES: usize = 65;

/// The headers of a signed call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signed<'c> {
    pub(super) timestamp: &'c str,
    pub(super) signature: &'c str,
}

/// The public key that SendGrid's event webhook is signed by.
#[derive(Debug, Clone)]
pub(super) struct SigningKey([u8; P256_POINT_BYTES]);

impl SigningKey {
    /// Reads the setting: base64 of the key in DER.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        let wrong = "must be a base64 ECDSA P-256 key, as SendGrid shows it";
        let der = STANDARD.decode(text.trim()).map_err(|_| wrong)?;
        let point = der.strip_prefix(&P256_HEAD).ok_or(wrong)?;
        point.try_into().map(Self).map_err(|_| wrong)
    }

    /// Checks the headers before the body is read: whether the signature could be right.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) fn check_shape(signed: Signed<'_>, now: Timestamp) -> Result<(), Unproven> {
        let Signed { timestamp, signature } = signed;
        if timestamp.is_empty() || signature.is_empty() {
            return Err(Unproven::Missing);
        }
        let signature = STANDARD.decode(signature).map_err(|_| Unproven::Wrong)?;
        if !(1..=P256_SIGNATURE_BYTES_MAX).contains(&signature.len()) {
            return Err(Unproven::Wrong);
        }
        fresh(now, timestamp, AGE_MAX)
    }

    /// Checks the signature of a body: base64 of an ECDSA signature of timestamp and body.
    ///
    /// # Errors
    /// Why it is not authentic.
    pub(super) fn check(
        &self,
        signed: Signed<'_>,
        now: Timestamp,
        body: &[u8],
    ) -> Result<(), Unproven> {
        let Signed { timestamp, signature } = signed;
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
