//! Dashboard session tokens: JWTs signed with HMAC-SHA256; no other algorithm is accepted.
//!
//! A token is valid if its algorithm is HS256, its key id (if it has one) is that of this server's secret, its
//! audience is `millrace`, it names a workspace and scopes or a role, and the time is between `nbf` and `exp`,
//! with 30 seconds of leeway. `exp` is at most 30 days after `iat`, or without an `iat` after now. A token can
//! be revoked by its `jti`, or with all tokens of its actor.

mod secret;

use std::{fmt, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

pub use self::secret::SecretFault;
use kernel::{Error, Result, Timestamp, WorkspaceId};

use super::scope::{ScopeName, ScopeSet};

/// Clocks of the signer and of this server may differ by this much, in seconds.
const LEEWAY_S: i64 = 30;
/// Longest life of a token, from `iat` to `exp`.
pub(super) const TTL_MAX: Duration = Duration::from_hours(30 * 24);
/// The audience of session tokens.
const AUDIENCE: &str = "millrace";
/// Bytes of the secret's hash that are its key id.
const KEY_ID_BYTES: usize = 8;
/// Longest name of an actor, in characters.
const ACTOR_CHARS_MAX: usize = 255;
/// The error for any invalid token. It does not reveal what is invalid.
const INVALID: Error = Error::Unauthenticated("Invalid session token");
/// The error for an expired token.
const EXPIRED: Error = Error::Unauthenticated("Session token expired");

/// Creates and verifies session tokens with one secret.
#[derive(Clone)]
pub struct Sessions {
    sign: EncodingKey,
    verify: DecodingKey,
    key_id: String,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// A token to create.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub workspace: WorkspaceId,
    /// The actor in audit entries.
    pub actor: String,
    pub scopes: ScopeSet,
    pub ttl: Duration,
}

#[derive(Debug, Clone)]
pub struct Session {
    pub workspace: WorkspaceId,
    /// The actor in audit entries.
    pub actor: String,
    pub scopes: ScopeSet,
    /// The id for revoking it (`jti`).
    pub id: Option<String>,
    /// The time of its creation (`iat`).
    pub issued_at: Option<Timestamp>,
    pub expires_at: Timestamp,
}

impl Session {
    /// Whether a credential has the form of a JWT: three parts, two dots.
    pub(super) fn may_be(text: &SecretString) -> bool {
        text.expose_secret().bytes().filter(|byte| *byte == b'.').count() == 2
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Claims {
    sub: String,
    aud: Audience,
    workspace_id: Uuid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    /// With milliseconds, so that a session created right after a revocation is not revoked by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iat: Option<f64>,
    #[serde(default)]
    nbf: Option<i64>,
    exp: i64,
}

/// One audience or several. The library checks them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// A role of a person in a workspace, as a shorthand for scopes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Owner,
    Admin,
    Editor,
    Viewer,
}

impl Role {
    fn scopes(self) -> ScopeSet {
        let may = |scope: &&ScopeName| {
            let name = scope.as_str();
            match self {
                Self::Owner | Self::Admin => true,
                Self::Editor => !name.ends_with(":delete"),
                Self::Viewer => name.ends_with(":read"),
            }
        };
        let scopes: Vec<ScopeName> = ScopeName::ALL.iter().filter(may).copied().collect();
        ScopeSet::of(&scopes)
    }
}

impl Sessions {
    fn with_secret(secret: &SecretString) -> Self {
        let bytes = secret.expose_secret().as_bytes();
        Self {
            sign: EncodingKey::from_secret(bytes),
            verify: DecodingKey::from_secret(bytes),
            key_id: hex::encode(&Sha256::digest(bytes)[..KEY_ID_BYTES]),
        }
    }

    pub fn create(&self, now: Timestamp, new: NewSession) -> Result<SecretString> {
        if new.scopes.is_empty() {
            return Err(Error::bad_request("a session needs at least one scope"));
        }
        if new.ttl.is_zero() || new.ttl > TTL_MAX {
            return Err(Error::bad_request("a session lives between 1 second and 30 days"));
        }
        if !is_actor(&new.actor) {
            return Err(Error::bad_request("an actor must be between 1 and 255 characters"));
        }
        let now_s = now.millis().div_euclid(1000);
        let claims = Claims {
            sub: new.actor,
            aud: Audience::One(AUDIENCE.to_owned()),
            workspace_id: new.workspace.uuid(),
            scopes: Some(new.scopes.to_string().split(',').map(str::to_owned).collect()),
            role: None,
            jti: Some(Uuid::new_v4().to_string()),
            iat: Some(seconds(now)),
            nbf: Some(now_s),
            exp: now_s + i64::try_from(new.ttl.as_secs()).unwrap_or(i64::MAX / 2),
        };
        let header = Header { kid: Some(self.key_id.clone()), ..Header::new(Algorithm::HS256) };
        let token = jsonwebtoken::encode(&header, &claims, &self.sign)
            .map_err(|fault| Error::Internal(anyhow::Error::new(fault)))?;
        Ok(SecretString::from(token))
    }

    pub fn verify(&self, token: &SecretString, now: Timestamp) -> Result<Session> {
        let text = token.expose_secret();
        let header = jsonwebtoken::decode_header(text).map_err(|_| INVALID)?;
        if header.kid.is_some_and(|kid| kid != self.key_id) {
            return Err(INVALID);
        }
        let mut rules = Validation::new(Algorithm::HS256);
        rules.set_audience(&[AUDIENCE]);
        rules.set_required_spec_claims(&["exp", "aud"]);
        // The library would use the system's clock. The times are checked below, with the server's clock.
        rules.validate_exp = false;
        rules.validate_nbf = false;
        let token = jsonwebtoken::decode::<Claims>(text, &self.verify, &rules);
        let claims = token.map_err(|_| INVALID)?.claims;
        in_time(&claims, now)?;
        // Another program may sign tokens, and audit entries must be able to hold the name.
        if !is_actor(&claims.sub) || !claims.jti.iter().all(|id| is_actor(id)) {
            return Err(INVALID);
        }
        let scopes = match (&claims.scopes, claims.role) {
            (Some(scopes), _) => ScopeSet::of_stored(scopes),
            (None, Some(role)) => role.scopes(),
            (None, None) => return Err(INVALID),
        };
        let workspace = WorkspaceId::new(claims.workspace_id);
        Ok(Session {
            workspace,
            actor: claims.sub,
            scopes,
            id: claims.jti,
            issued_at: claims.iat.and_then(timestamp),
            expires_at: Timestamp::from_millis(claims.exp.saturating_mul(1000)),
        })
    }
}

fn is_actor(name: &str) -> bool {
    (1..=ACTOR_CHARS_MAX).contains(&name.chars().count()) && !name.contains('\0')
}

/// Seconds since 1970, as JWTs count them.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of this age are exact")]
fn seconds(at: Timestamp) -> f64 {
    at.millis() as f64 / 1000.0
}

/// The time of a JWT; none for a value out of range.
#[expect(clippy::cast_possible_truncation, reason = "held to the range before")]
fn timestamp(seconds: f64) -> Option<Timestamp> {
    let millis = (seconds * 1000.0).round();
    let is_time = millis.is_finite() && millis.abs() < MILLIS_MAX;
    is_time.then(|| Timestamp::from_millis(millis as i64))
}

/// The year 9999 in milliseconds since 1970; larger numbers are not times.
const MILLIS_MAX: f64 = 253_402_300_800_000.0;

fn in_time(claims: &Claims, now: Timestamp) -> Result<()> {
    let now_s = now.millis().div_euclid(1000);
    if now_s > claims.exp.saturating_add(LEEWAY_S) {
        return Err(EXPIRED);
    }
    let issued = match claims.iat {
        None => now,
        Some(seconds) => timestamp(seconds).ok_or(INVALID)?,
    };
    let issued_s = issued.millis().div_euclid(1000);
    let life_s = i64::try_from(TTL_MAX.as_secs()).unwrap_or(i64::MAX);
    if issued_s > now_s.saturating_add(LEEWAY_S)
        || claims.exp.saturating_sub(issued_s) > life_s.saturating_add(LEEWAY_S)
    {
        return Err(INVALID);
    }
    match claims.nbf {
        Some(nbf) if now_s < nbf.saturating_sub(LEEWAY_S) => Err(INVALID),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
