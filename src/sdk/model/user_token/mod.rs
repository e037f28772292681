//! User tokens: JWTs by which a workspace's backend states who is using its app.
//!
//! A token is valid if one of the workspace's secrets (HS256) or registered public keys (each for one
//! algorithm, ES256 or RS256) signed it, `sub` is the person's external id, and `exp` is at most 24 hours
//! ahead. Clocks may differ by 30 seconds. `aud` and `iss` are ignored: the key identifies the workspace.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, TokenData, Validation};
use kernel::{Error, Result, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::token_key::{KeyAlgorithm, PublicKey};

pub const X_USER_TOKEN: &str = "x-user-token";
/// Bytes of a token; real ones have a few hundred.
const TOKEN_BYTES_MAX: usize = 8_192;
const SUBJECT_CHARS_MAX: usize = 255;
/// Longest remaining lifetime of a token.
const LIFE_SECONDS_MAX: f64 = 24.0 * 60.0 * 60.0;
/// Seconds by which the clocks of the signer and of this server may differ.
const LEEWAY_SECONDS: f64 = 30.0;

pub const REQUIRED: Error = Error::Unauthenticated("user token is required");
/// The same for every defect, so that callers cannot probe the check.
pub const INVALID: Error = Error::Unauthenticated("user token is invalid");
const EXPIRED: Error = Error::Unauthenticated("user token has expired");
const TOO_LONG: Error = Error::Unauthenticated("user token must expire within 24 hours");

#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
}

/// The keys that verify the tokens of one workspace.
#[derive(Clone, Default)]
pub struct TokenKeys {
    secrets: Vec<DecodingKey>,
    public: Vec<(PublicKey, DecodingKey)>,
}

impl std::fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (secrets, public) = (self.secrets.len(), self.public.len());
        f.debug_struct("TokenKeys").field("secrets", &secrets).field("public", &public).finish()
    }
}

impl TokenKeys {
    pub fn new(secrets: &[SecretString], public: Vec<PublicKey>) -> Self {
        let secrets = secrets
            .iter()
            .map(|secret| DecodingKey::from_secret(secret.expose_secret().as_bytes()))
            .collect();
        let public = public.into_iter().filter_map(|key| {
            let decoding = key.decoding_key()?;
            Some((key, decoding))
        });
        Self { secrets, public: public.collect() }
    }

    /// The external id of the token's person.
    ///
    /// # Errors
    /// Unauthenticated for an invalid token.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<String> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(INVALID);
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| INVALID)?;
        if has_critical_extensions(token) {
            return Err(INVALID);
        }
        let claims = match header.alg {
            Algorithm::HS256 => {
                let mut keys = self.secrets.iter();
                keys.find_map(|key| claims(token, key, Algorithm::HS256))
            }
            Algorithm::ES256 => self.by_public(KeyAlgorithm::Es256, header.kid.as_deref(), token),
            Algorithm::RS256 => self.by_public(KeyAlgorithm::Rs256, header.kid.as_deref(), token),
            _ => None,
        };
        let claims = claims.ok_or(INVALID)?;
        in_time(&claims, now)?;
        let chars = claims.sub.chars().count();
        if chars == 0 || chars > SUBJECT_CHARS_MAX || claims.sub.contains('\0') {
            return Err(INVALID);
        }
        Ok(claims.sub)
    }

    /// Verifies with the key that `kid` names, or with every key of the algorithm if it names none of this
    /// workspace.
    fn by_public(&self, algorithm: KeyAlgorithm, kid: Option<&str>, token: &str) -> Option<Claims> {
        let named = self.public.iter().any(|(key, _)| kid == Some(key.id.as_str()));
        self.public
            .iter()
            .filter(|(key, _)| key.algorithm == algorithm)
            .filter(|(key, _)| !named || kid == Some(key.id.as_str()))
            .find_map(|(_, key)| claims(token, key, algorithm.into()))
    }
}

/// Whether the header requires extensions (RFC 7515, 4.1.11): none is supported.
fn has_critical_extensions(token: &str) -> bool {
    let header = token.split('.').next().unwrap_or_default();
    let header = BASE64_URL_SAFE_NO_PAD.decode(header).unwrap_or_default();
    let header: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&header).unwrap_or_default();
    header.contains_key("crit")
}

/// The claims of a token that this key signed with this algorithm.
fn claims(token: &str, key: &DecodingKey, algorithm: Algorithm) -> Option<Claims> {
    let mut rules = Validation::new(algorithm);
    rules.set_required_spec_claims::<&str>(&[]);
    // The library reads the system's clock; the claims are checked against the application's clock instead.
    rules.validate_exp = false;
    rules.validate_nbf = false;
    rules.validate_aud = false;
    let data: TokenData<Claims> = jsonwebtoken::decode(token, key, &rules).ok()?;
    Some(data.claims)
}

#[expect(clippy::cast_precision_loss, reason = "seconds of this age are exact")]
fn in_time(claims: &Claims, now: Timestamp) -> Result<()> {
    let now = now.millis() as f64 / 1000.0;
    if !claims.exp.is_finite() || claims.nbf.is_some_and(|nbf| nbf > now + LEEWAY_SECONDS) {
        return Err(INVALID);
    }
    if claims.exp + LEEWAY_SECONDS < now {
        return Err(EXPIRED);
    }
    if claims.exp > now + LIFE_SECONDS_MAX + LEEWAY_SECONDS {
        return Err(TOO_LONG);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
