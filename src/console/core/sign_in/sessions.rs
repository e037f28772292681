//! Sessions: begun by a link or by a member, ended by signing out, by revocation or by their age.

use std::{sync::Arc, time::Duration};

use kernel::{KeyId, Result, Timestamp, WorkspaceId};
use members::sign_in::SigningIn;
use secrecy::SecretString;
use sqlx::PgPool;
use web::{auth::SignedIn, http::Requester};

use super::{
    store::{self, SessionOwner, SessionToStore},
    token::{self, Purpose},
};

pub use super::store::SessionRow;

/// How long a session lives.
pub(super) const SESSION_LIFE: Duration = Duration::from_hours(7 * 24);
/// How old the stored time of the last use may become.
const USE_STORED_EVERY: Duration = Duration::from_mins(1);

/// A session that is live.
#[derive(Debug, Clone)]
pub struct Session {
    pub person: Arc<SignedIn>,
    pub workspace_name: String,
    /// The token that every change must bring.
    pub csrf: String,
}

/// Begins a session by a link, which signs in no more. `None` for a link that does not sign in.
pub(super) async fn begin(
    pool: &PgPool,
    now: Timestamp,
    link: &SecretString,
    requester: &Requester,
) -> Result<Option<SecretString>> {
    let session = token::mint(Purpose::Session);
    let address = requester.ip.map(|ip| ip.to_string());
    let new = new_session(now, &session, requester, address.as_deref());
    let begun = store::exchange(pool, token::hash(link), &new).await?;
    Ok(begun.then_some(session))
}

/// Begins a session of a member.
pub(super) async fn begin_for(
    pool: &PgPool,
    now: Timestamp,
    member: &SigningIn,
    requester: &Requester,
) -> Result<SecretString> {
    let session = token::mint(Purpose::Session);
    let address = requester.ip.map(|ip| ip.to_string());
    let new = new_session(now, &session, requester, address.as_deref());
    let owner = SessionOwner {
        workspace: member.workspace.uuid(),
        actor: &member.email,
        scopes: &member.scopes.to_stored(),
        member: Some(member.member.uuid()),
    };
    let mut connection = pool.acquire().await?;
    store::insert_session(&mut connection, &owner, &new).await?;
    Ok(session)
}

fn new_session<'s>(
    now: Timestamp,
    token: &SecretString,
    requester: &'s Requester,
    address: Option<&'s str>,
) -> SessionToStore<'s> {
    SessionToStore {
        id: KeyId::mint(),
        token: token::hash(token),
        user_agent: requester.user_agent.as_deref(),
        address,
        created_at: now,
        expires_at: now.after(SESSION_LIFE),
    }
}

impl Session {
    /// The live session of this token.
    pub async fn find(pool: &PgPool, now: Timestamp, token: &SecretString) -> Result<Option<Self>> {
        let Some(found) = store::find_session(pool, token::hash(token), now).await? else {
            return Ok(None);
        };
        if found.last_used_at.after(USE_STORED_EVERY) <= now {
            store::note_use(pool, found.person.tenant.workspace, found.person.session, now).await?;
        }
        let csrf = token::csrf(token);
        let (person, workspace_name) = (Arc::new(found.person), found.workspace_name);
        Ok(Some(Self { person, workspace_name, csrf }))
    }
}

/// Whether a session is still live, for answers that go on.
pub async fn is_live(pool: &PgPool, now: Timestamp, person: &SignedIn) -> Result<bool> {
    store::is_live(pool, person.tenant.workspace, person.session, now).await
}

/// Ends the session of a signed-in person.
pub async fn end(pool: &PgPool, now: Timestamp, person: &SignedIn) -> Result<()> {
    store::revoke(pool, person.tenant.workspace, person.session, now).await
}

/// The live sessions of a workspace, newest first.
pub async fn list(
    pool: &PgPool,
    now: Timestamp,
    workspace: WorkspaceId,
) -> Result<Vec<SessionRow>> {
    store::list_sessions(pool, workspace, now).await
}
