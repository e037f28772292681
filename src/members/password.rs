//! Passwords: what they must be, and their hashes.

use std::{
    ops::RangeInclusive,
    sync::{Arc, LazyLock},
    time::Duration,
};

use argon2::{
    Argon2,
    password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString},
};
use base64::{Engine as _, prelude::BASE64_STANDARD_NO_PAD};
use kernel::{Error, Result};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Semaphore;

/// Characters of a password. There is no rule but length (NIST SP 800-63B, 3.1.1.2).
pub const PASSWORD_CHARS: RangeInclusive<usize> = 12..=256;
/// Hashes computed at once: each takes 19 MiB and a core for some 30 ms.
const HASHES_MAX: usize = 2;
/// Longest wait for its turn. Peers are limited one by one, so many of them could make a queue.
const WAIT_MAX: Duration = Duration::from_secs(5);
const SALT_BYTES: usize = 16;

/// What is compared with where there is no member, so that an answer takes as long as for one.
static OF_NO_MEMBER: LazyLock<Option<String>> =
    LazyLock::new(|| hash(&SecretString::from("a password that is no one's")).ok());

/// Why a password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordFault {
    /// It is too short or too long.
    #[error("must be between {} and {} characters", PASSWORD_CHARS.start(), PASSWORD_CHARS.end())]
    Length,
    /// It is the address that it belongs to.
    #[error("must not be the email address")]
    Address,
}

/// Checks a new password of the member with this address.
pub(crate) fn check(
    password: &SecretString,
    email: &str,
) -> std::result::Result<(), PasswordFault> {
    let text = password.expose_secret();
    if !PASSWORD_CHARS.contains(&text.chars().count()) {
        return Err(PasswordFault::Length);
    }
    if text.eq_ignore_ascii_case(email) {
        return Err(PasswordFault::Address);
    }
    Ok(())
}

/// Computes hashes of passwords, few at once. Clones share the limit.
#[derive(Debug, Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    wait_max: Duration,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(HASHES_MAX)), wait_max: WAIT_MAX }
    }
}

impl Passwords {
    /// The hash of a new password (Argon2id, RFC 9106, with the parameters that OWASP recommends: 19 MiB, two passes).
    pub(crate) async fn hashed(&self, password: SecretString) -> Result<String> {
        self.blocking(move || hash(&password)).await?
    }

    /// Which of these hashes is the first that is a password's; without a hash it takes as long, and is none. They are compared
    /// in one turn: without a turn nothing was compared.
    pub(crate) async fn first_of(
        &self,
        password: SecretString,
        hashes: Vec<Option<String>>,
    ) -> Result<Option<usize>> {
        self.blocking(move || hashes.into_iter().position(|hash| is_of(&password, hash))).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let busy = || Error::Unavailable {
            what: "Too many people are signing in",
            retry_after: Some(self.wait_max),
        };
        let turn = tokio::time::timeout(self.wait_max, self.turns.acquire()).await;
        let _permit = turn.map_err(|_| busy())?.map_err(|_| busy())?;
        Ok(tokio::task::spawn_blocking(work).await.map_err(anyhow::Error::from)?)
    }
}

fn is_of(password: &SecretString, hash: Option<String>) -> bool {
    let is_known = hash.is_some();
    let hash = hash.or_else(|| OF_NO_MEMBER.clone()).unwrap_or_default();
    let same = PasswordHash::new(&hash).is_ok_and(|hash| {
        Argon2::default().verify_password(password.expose_secret().as_bytes(), &hash).is_ok()
    });
    same && is_known
}

fn hash(password: &SecretString) -> Result<String> {
    let salt = BASE64_STANDARD_NO_PAD.encode(rand::random::<[u8; SALT_BYTES]>());
    let salt = SaltString::from_b64(&salt).map_err(|fault| Error::internal(fault.to_string()))?;
    let hash = Argon2::default().hash_password(password.expose_secret().as_bytes(), &salt);
    Ok(hash.map_err(|fault| Error::internal(fault.to_string()))?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        SecretString::from(text)
    }

    #[test]
    fn length_is_the_only_rule_beside_the_address() {
        for (password, expected) in [
            ("x".repeat(11), Err(PasswordFault::Length)),
            ("x".repeat(12), Ok(())),
            ("ä".repeat(256), Ok(())),
            ("x".repeat(257), Err(PasswordFault::Length)),
            ("Ann@Example.test".to_owned(), Err(PasswordFault::Address)),
        ] {
            assert_eq!(check(&secret(&password), "ann@example.test"), expected, "{password}");
        }
    }

    #[tokio::test]
    async fn a_password_is_known_by_its_hash() {
        let passwords = Passwords::default();
        let hash = passwords.hashed(secret("correct horse battery")).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let first_of = async |password: &str, hashes: &[Option<String>]| {
            passwords.first_of(secret(password), hashes.to_vec()).await.unwrap()
        };
        let known = Some(hash.clone());
        assert_eq!(first_of("correct horse battery", std::slice::from_ref(&known)).await, Some(0));
        assert_eq!(first_of("correct horse battery", &[None, known.clone()]).await, Some(1));
        assert_eq!(first_of("correct horse batterY", &[None, known]).await, None);
        assert_ne!(
            passwords.hashed(secret("correct horse battery")).await.unwrap(),
            hash,
            "salted"
        );
        assert_eq!(first_of("a password that is no one's", &[None]).await, None);
    }

    #[tokio::test]
    async fn who_waits_too_long_for_a_hash_gets_a_time_to_try_again() {
        let wait_max = Duration::from_millis(1);
        let passwords = Passwords { wait_max, ..Passwords::default() };
        let both = passwords.turns.acquire_many(2).await.unwrap();
        let refused = passwords.hashed(secret("correct horse battery")).await;
        let Err(Error::Unavailable { retry_after, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(retry_after, Some(wait_max));
        drop(both);
        passwords.hashed(secret("correct horse battery")).await.unwrap();
    }
}
