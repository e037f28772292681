//! The master key: keys derived from it, and sealed secrets in the stores.
//!
//! A sealed secret is `sealed:1:` and base64url of a nonce and the secret encrypted by ChaCha20-Poly1305 (RFC
//! 8439) with a key of its workspace: it cannot be opened in another workspace. Keys are derived by
//! HMAC-SHA256 of a label, so that none reveals anything about another.

use std::fmt;

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use config::Settings;
use hmac::{Hmac, Mac as _};
use kernel::WorkspaceId;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

use crate::{self as engines, DataDir};

/// The key's file among the secrets of the data directory.
const FILE: &str = "master.key";

/// The prefix of a sealed secret.
const PREFIX: &str = "sealed:1:";
const SEALING: &str = "secrets of a workspace";
const WEBHOOKS: &str = "webhooks of a workspace";
const PRIVACY: &str = "identifiers of erased people";
const CHECK: &str = "check of the master key";
const KEY_BYTES: usize = 32;

#[derive(Clone)]
pub struct Vault {
    master: SecretString,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault")
    }
}

/// The secret was sealed by another master key, or for another workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret was sealed with another master key")]
pub struct ForeignSeal;

impl Vault {
    /// The vault of the configured key, or of the one in the data directory, which is generated if there is
    /// none.
    ///
    /// # Errors
    /// If it cannot be read or created.
    pub fn from_settings(settings: &Settings, data_dir: &DataDir) -> Result<Self, engines::Error> {
        let master = match &settings.security.master_key {
            Some(key) => key.clone(),
            None => data_dir.secret(FILE)?,
        };
        Ok(Self::new(master))
    }

    /// The vault of the configured key, or of the one in the data directory; none if neither exists.
    ///
    /// # Errors
    /// If the key cannot be read.
    pub fn existing(
        settings: &Settings,
        data_dir: Option<&DataDir>,
    ) -> Result<Option<Self>, engines::Error> {
        let configured = settings.security.master_key.clone();
        let master = match (configured, data_dir) {
            (Some(key), _) => Some(key),
            (None, Some(data_dir)) => data_dir.existing_secret(FILE)?,
            (None, None) => None,
        };
        Ok(master.map(Self::new))
    }

    pub fn new(master: SecretString) -> Self {
        Self { master }
    }

    pub fn is_sealed(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    pub fn seal(&self, workspace: WorkspaceId, secret: &str) -> String {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = secret.as_bytes().to_vec();
        let tag = self
            .sealing_key(workspace)
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::empty(),
                &mut sealed,
            )
            .expect("a secret is far shorter than what the cipher takes");
        let all = [&nonce[..], &sealed, tag.as_ref()].concat();
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(all))
    }

    /// Opens a sealed secret of a workspace; none if the text is not a sealed secret.
    ///
    /// # Errors
    /// If it was sealed with another key.
    pub fn open(
        &self,
        workspace: WorkspaceId,
        text: &str,
    ) -> Result<Option<SecretString>, ForeignSeal> {
        let Some(sealed) = text.strip_prefix(PREFIX) else { return Ok(None) };
        let mut sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| ForeignSeal)?;
        let (nonce, sealed) = sealed.split_at_mut_checked(NONCE_LEN).ok_or(ForeignSeal)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| ForeignSeal)?;
        let opened = self
            .sealing_key(workspace)
            .open_in_place(nonce, Aad::empty(), sealed)
            .map_err(|_| ForeignSeal)?;
        let text = std::str::from_utf8(opened).map_err(|_| ForeignSeal)?;
        Ok(Some(SecretString::from(text)))
    }

    /// The key that signs a workspace's webhooks.
    pub fn webhook_key(&self, workspace: WorkspaceId) -> [u8; KEY_BYTES] {
        self.derive(WEBHOOKS, workspace)
    }

    /// The key that hashes identifiers of erased people.
    pub fn privacy_key(&self) -> [u8; KEY_BYTES] {
        self.mac(PRIVACY.as_bytes(), &[])
    }

    /// A value by which nodes find out whether they have the same key. It reveals nothing about the key.
    pub fn check_value(&self) -> [u8; KEY_BYTES] {
        self.mac(CHECK.as_bytes(), &[])
    }

    fn sealing_key(&self, workspace: WorkspaceId) -> LessSafeKey {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &self.derive(SEALING, workspace));
        LessSafeKey::new(key.expect("a derived key has the cipher's length"))
    }

    fn derive(&self, label: &str, workspace: WorkspaceId) -> [u8; KEY_BYTES] {
        self.mac(label.as_bytes(), workspace.uuid().as_bytes())
    }

    fn mac(&self, label: &[u8], subject: &[u8]) -> [u8; KEY_BYTES] {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.master.expose_secret().as_bytes())
            .expect("a key of any length will do");
        mac.update(label);
        mac.update(&[0]);
        mac.update(subject);
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn vault(master: &str) -> Vault {
        Vault::new(master.into())
    }

    fn workspace(id: u128) -> WorkspaceId {
        WorkspaceId::new(Uuid::from_u128(id))
    }

    fn opened(vault: &Vault, workspace: WorkspaceId, text: &str) -> Option<String> {
        let opened = vault.open(workspace, text).ok()?;
        opened.map(|secret| secret.expose_secret().to_owned())
    }

    proptest! {
        #[test]
        fn a_secret_opens_only_in_its_workspace(secret in "\\PC{0,200}") {
            let vault = vault("one");
            let sealed = vault.seal(workspace(1), &secret);
            prop_assert!(Vault::is_sealed(&sealed) && (secret.len() < 4 || !sealed.contains(&secret)));
            prop_assert_eq!(opened(&vault, workspace(1), &sealed), Some(secret.clone()));
            prop_assert_eq!(vault.open(workspace(2), &sealed).unwrap_err(), ForeignSeal);
            prop_assert_eq!(self::vault("two").open(workspace(1), &sealed).unwrap_err(), ForeignSeal);
            prop_assert_ne!(vault.seal(workspace(1), &secret), sealed, "alike secrets look unlike");
        }

        #[test]
        fn arbitrary_texts_are_not_sealed_secrets(text in "\\PC{0,60}") {
            let vault = vault("one");
            let made_up = format!("{PREFIX}{text}");
            prop_assert!(vault.open(workspace(1), &made_up).is_err());
            prop_assume!(!Vault::is_sealed(&text));
            prop_assert!(vault.open(workspace(1), &text).unwrap().is_none());
        }
    }

    /// Sealed by Python's `cryptography` 48: secrets of other implementations and former releases open.
    #[test]
    fn a_secret_sealed_elsewhere_opens() {
        let sealed = "sealed:1:AAECAwQFBgcICQoLV10mYCS2t5e9JWd2rg7UYRfW3g31wlasPQ";
        let vault = vault("a master key of the tests");
        assert_eq!(opened(&vault, workspace(7), sealed).as_deref(), Some("pässword"));
    }

    #[test]
    fn the_check_value_is_that_of_the_key_alone() {
        assert_eq!(vault("one").check_value(), vault("one").check_value());
        assert_ne!(vault("one").check_value(), vault("two").check_value());
        assert_ne!(vault("one").check_value(), vault("one").webhook_key(workspace(0)));
    }

    #[test]
    fn each_workspace_has_its_own_webhook_key() {
        let vault = vault("one");
        assert_eq!(vault.webhook_key(workspace(1)), vault.webhook_key(workspace(1)));
        assert_ne!(vault.webhook_key(workspace(1)), vault.webhook_key(workspace(2)));
    }
}
