//! Revokes dashboard sessions before their time is over. Running servers ask at every request of a session, so
//! that a revocation holds at once.

use kernel::{Error, Result, Timestamp, WorkspaceId};
use sqlx::PgPool;

use super::{
    sessions::TTL_MAX,
    store::{self, RevokedSessions},
};

/// Characters of a session's id or of an actor's name.
const NAME_CHARS_MAX: usize = 255;

/// Which sessions of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    /// The one with this id (`jti`).
    Session(String),
    /// All that were made for this actor until now.
    Actor(String),
}

/// Revokes sessions of a workspace.
///
/// # Errors
/// A bad request for an empty or too long name.
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
    // No session that was made before now lives longer; a minute is for clocks that differ.
    let longest = i64::try_from(TTL_MAX.as_millis()).unwrap_or(i64::MAX).saturating_add(60_000);
    let expires = Timestamp::from_millis(now.millis().saturating_add(longest));
    store::revoke_sessions(pool, workspace, &RevokedSessions { kind, name }, now, expires).await
}
