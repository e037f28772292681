//! Revokes dashboard sessions before they expire. Running servers check each request with a session, so a
//! revocation takes effect at once.

use kernel::{Error, Result, Timestamp, WorkspaceId};
use sqlx::PgPool;

use super::{
    sessions::TTL_MAX,
    store::{self, RevokedSessions},
};

/// Characters of a session's id or of an actor's name.
const NAME_CHARS_MAX: usize = 255;

/// The sessions to revoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    /// The one with this id (`jti`).
    Session(String),
    /// All sessions created for this actor until now.
    Actor(String),
}

/// Revokes sessions of a workspace.
///
/// # Errors
/// A bad request for an empty name or one that is too long.
pub async fn sessions(
    pool: &PgPool,
    workspace: WorkspaceId,
    now: Timestamp,
    revoked: &Revoked,
) -> Result<()> {
    let (kind, name) = match revoked {
        Revoked::Session(id) => ("session", id),
        Revoked::Actor(actor) => ("actor", actor),
    };
    let chars = name.chars().count();
    if chars == 0 || chars > NAME_CHARS_MAX || name.contains('\0') {
        return Err(Error::bad_request(format!(
            "the {kind} must be between 1 and {NAME_CHARS_MAX} characters"
        )));
    }
    // No earlier session lives longer. The extra minute allows for differing clocks.
    let longest = i64::try_from(TTL_MAX.as_millis()).unwrap_or(i64::MAX).saturating_add(60_000);
    let expires = Timestamp::from_millis(now.millis().saturating_add(longest));
    store::revoke_sessions(pool, workspace, &RevokedSessions { kind, name }, now, expires).await
}
