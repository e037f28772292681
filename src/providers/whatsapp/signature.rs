//! The signature of Meta's callbacks.

use aws_lc_rs::hmac;

/// Bytes of an HMAC-SHA256.
const SIGNATURE_BYTES: usize = 32;

/// Whether a text has the shape of a signature of Meta's, so that it is worth reading what it signs.
pub(super) fn is_signature(text: &str) -> bool {
    let decoded = text.strip_prefix("sha256=").map(hex::decode);
    decoded.is_some_and(|bytes| bytes.is_ok_and(|bytes| bytes.len() == SIGNATURE_BYTES))
}

/// Whether `signature` (`X-Hub-Signature-256`) is that of `body`: `sha256=` and the hex of HMAC-SHA256 by
/// the app's secret. Takes constant time.
pub(super) fn is_signed(app_secret: &str, body: &[u8], signature: &str) -> bool {
    let Some(Ok(signature)) = signature.strip_prefix("sha256=").map(hex::decode) else {
        return false;
    };
    let key = hmac::Key::new(hmac::HMAC_SHA256, app_secret.as_bytes());
    hmac::verify(&key, body, &signature).is_ok()
}
