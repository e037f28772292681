//! Sessions: begun by a link or by a member, ended by signing out, by revocation or by their age.

use std::{sync::Arc, time::Duration};

use kernel::{Error, KeyId, Result, Timestamp, WorkspaceId, page::PageWindow};
use members::sign_in::SigningIn;
use secrecy::SecretString;
use serde_json::{Map, json};
use sqlx::PgPool;
use web::{
    audit_log::{self, Author, Change, Entry},
    auth::{ScopeSet, SignedIn},
    http::Requester,
};

use super::{
    links::LINK_ACTOR,
    store::{self, LockedSession, SessionOwner, SessionToStore},
    token::{self, Purpose},
};

pub use super::store::{SessionRow, SessionsPage};

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

/// What a session may do now, for answers that go on; none once it has ended.
pub async fn present_scopes(
    pool: &PgPool,
    now: Timestamp,
    person: &SignedIn,
) -> Result<Option<ScopeSet>> {
    store::present_scopes(pool, person.tenant.workspace, person.session, now).await
}

/// Ends the session of a signed-in person.
pub async fn end(pool: &PgPool, now: Timestamp, person: &SignedIn) -> Result<()> {
    let mut connection = pool.acquire().await?;
    store::revoke(&mut connection, person.tenant.workspace, person.session, now).await
}

/// Ends another session of a signed-in person's workspace, and returns its actor. The change is in the audit log.
///
/// # Errors
/// Forbidden for a session that may do more than the person's, unless a link for the same name began both; not found for one
/// that is not live.
pub async fn end_of_another(
    pool: &PgPool,
    person: &SignedIn,
    author: &Author,
    session: KeyId,
) -> Result<String> {
    let (workspace, now) = (person.tenant.workspace, author.now);
    let mut tx = pool.begin().await?;
    let found = store::lock_session(&mut tx, workspace, session, person.session, now).await?;
    let LockedSession { actor, scopes, is_of_same_link } =
        found.ok_or(Error::NotFound("Session"))?;
    // Links that name no one are not all of the same person.
    let is_own = is_of_same_link && actor != LINK_ACTOR;
    let scopes = ScopeSet::of_stored(&scopes);
    let lacked = scopes.names().find(|scope| !person.scopes.has(*scope));
    if let Some(scope) = lacked.filter(|_| !is_own) {
        return Err(Error::Forbidden { scope: scope.as_str(), channel: None });
    }
    store::revoke(&mut tx, workspace, session, now).await?;
    let mut details = Map::new();
    details.insert("scopes".to_owned(), json!(scopes.to_stored()));
    let (change, object_id) = (Change::SessionRevoked, session.as_str());
    let entry = Entry { change, object_id, object_name: Some(&actor), details };
    audit_log::append(&mut tx, workspace, author, entry).await?;
    tx.commit().await?;
    Ok(actor)
}

/// A page of the live sessions of a workspace, newest first.
pub async fn list(
    pool: &PgPool,
    now: Timestamp,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<SessionsPage> {
    store::list_sessions(pool, workspace, window, now).await
}
