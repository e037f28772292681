//! The signature of Mailgun's webhooks, which is in the body.

use hmac::Mac as _;
use kernel::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::callback::{AGE_MAX, Secret, Unproven, fresh, json::text};

/// Mailgun's webhook signing key.
#[derive(Debug, Clone)]
pub(super) struct SigningKey(Secret);

impl SigningKey {
    /// Reads the setting.
    ///
    /// # Errors
    /// What is wrong, without the key.
    pub(super) fn read(key: &SecretString) -> Result<Self, &'static str> {
        // Mailgun's keys are texts as they are, whatever they begin with.
        if key.expose_secret().is_empty() {
            return Err("must not be empty");
        }
        Secret::read(key).map(Self)
    }

    /// Checks a body: hex of HMAC-SHA256 of timestamp and token.
    ///
    /// # Errors
    /// Why it is not authentic.
    pub(super) fn check(&self, now: Timestamp, body: &Value) -> Result<(), Unproven> {
        let part = |name| text(body, name);
        let (timestamp, token) = (part("/signature/timestamp"), part("/signature/token"));
        let signature = part("/signature/signature");
        if timestamp.is_empty() || token.is_empty() || signature.is_empty() {
            return Err(Unproven::Missing);
        }
        let signature = hex::decode(signature).map_err(|_| Unproven::Wrong)?;
        let mut hash = self.0.hash();
        hash.update(timestamp.as_bytes());
        hash.update(token.as_bytes());
        hash.verify_slice(&signature).map_err(|_| Unproven::Wrong)?;
        fresh(now, timestamp, AGE_MAX)
    }
}
