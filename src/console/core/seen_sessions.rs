//! Which sessions were found of late, so that cookies of sessions that have ended neither cost a query each nor lock out the
//! people who share an address with them.

use std::{fmt, time::Duration};

use moka::{
    policy::EvictionPolicy,
    sync::{Cache, CacheBuilder},
};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

/// Sessions that are remembered of each kind; those used least are forgotten.
const REMEMBERED_MAX: u64 = 10_000;
/// How long a token that is no session's is not looked up again. None becomes one later.
const ENDED_LIFE: Duration = Duration::from_mins(10);

/// The hash of a token: the tokens themselves are not kept.
type TokenHash = [u8; 32];

/// Tokens of sessions, by their hashes.
pub(crate) struct SeenSessions {
    live: Cache<TokenHash, ()>,
    ended: Cache<TokenHash, ()>,
}

/// The tokens that were not seen for the longest time make room.
fn remembered() -> CacheBuilder<TokenHash, (), Cache<TokenHash, ()>> {
    Cache::builder().max_capacity(REMEMBERED_MAX).eviction_policy(EvictionPolicy::lru())
}

fn hash(token: &SecretString) -> TokenHash {
    Sha256::digest(token.expose_secret().as_bytes()).into()
}

impl Default for SeenSessions {
    fn default() -> Self {
        Self { live: remembered().build(), ended: remembered().time_to_live(ENDED_LIFE).build() }
    }
}

impl fmt::Debug for SeenSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeenSessions").finish_non_exhaustive()
    }
}

impl SeenSessions {
    /// Whether a token was a live session's when it was looked up last. It is looked up again all the same.
    pub(crate) fn was_live(&self, token: &SecretString) -> bool {
        self.live.contains_key(&hash(token))
    }

    /// Whether a token is known to be no live session's.
    pub(crate) fn has_ended(&self, token: &SecretString) -> bool {
        self.ended.contains_key(&hash(token))
    }

    /// Remembers what a token was found to be.
    pub(crate) fn note(&self, token: &SecretString, is_live: bool) {
        let hash = hash(token);
        if is_live {
            self.live.insert(hash, ());
        } else {
            self.live.invalidate(&hash);
            self.ended.insert(hash, ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_has_ended_was_never_live() {
        let (seen, token) = (SeenSessions::default(), SecretString::from("mrc_x"));
        assert!(!seen.was_live(&token) && !seen.has_ended(&token));
        seen.note(&token, true);
        assert!(seen.was_live(&token) && !seen.has_ended(&token));
        seen.note(&token, false);
        assert!(!seen.was_live(&token) && seen.has_ended(&token));
        assert!(!seen.has_ended(&SecretString::from("mrc_y")));
    }
}
