//! Sessions: begun by a link or by a member, ended by signing out, by revocation or by their age.

use std::{sync::Arc, time::Duration};

use kernel::{Error, KeyId, Result, Timestamp, WorkspaceId, page::PageWindow};
use members::sign_in::SigningIn;
use secrecy::SecretString;
use serde_json::{Map, json};
use sqlx::PgPool;
use uuid::Uuid;
use web::{
    audit_log::{self, Author, Change, Entry},
    auth::{ScopeName, ScopeSet, SignedIn},
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

/// Who is the same person in all of their sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Identity<'s> {
    Member(Uuid),
    /// The name of the person for whom a link was made.
    Named(&'s str),
}

impl<'s> Identity<'s> {
    /// That of a session. Links that name no one are not all of the same person.
    fn of(actor: &'s str, member: Option<Uuid>) -> Option<Self> {
        match member {
            Some(member) => Some(Self::Member(member)),
            None => (actor != LINK_ACTOR).then_some(Self::Named(actor)),
        }
    }
}

/// A session that is live.
#[derive(Debug, Clone)]
pub struct Session {
    pub person: Arc<SignedIn>,
    /// The member whose session it is; none where a link began it.
    member: Option<Uuid>,
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
        let store::FoundSession { person, member, workspace_name, .. } = found;
        Ok(Some(Self { person: Arc::new(person), member, workspace_name, csrf }))
    }

    fn identity(&self) -> Option<Identity<'_>> {
        Identity::of(&self.person.actor, self.member)
    }

    /// What stays the same from one session of the person to the next, and is of no one else. None where a link that names no
    /// one began the session.
    pub fn person_key(&self) -> Option<String> {
        let workspace = self.person.tenant.workspace;
        self.identity().map(|identity| match identity {
            Identity::Member(member) => format!("{workspace}/member/{member}"),
            Identity::Named(name) => format!("{workspace}/link/{name}"),
        })
    }

    /// A scope for want of which this session may not end another; none where it may.
    pub fn lacks_to_end(&self, other: &SessionRow) -> Option<ScopeName> {
        let identity = Identity::of(&other.actor, other.member);
        self.lacks_to_end_of(identity, ScopeSet::of_stored(&other.scopes))
    }

    /// People end their own sessions whatever those may do, and no other that may do more.
    fn lacks_to_end_of(&self, other: Option<Identity<'_>>, scopes: ScopeSet) -> Option<ScopeName> {
        let is_own = other.is_some() && other == self.identity();
        self.person.scopes.lacked_of(scopes).filter(|_| !is_own)
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

/// Ends another session of the workspace, and returns its actor. The change is in the audit log.
///
/// # Errors
/// Forbidden for a session that `by` may not end ([`Session::lacks_to_end`]); not found for one that is not live.
pub async fn end_of_another(
    pool: &PgPool,
    by: &Session,
    author: &Author,
    session: KeyId,
) -> Result<String> {
    let (workspace, now) = (by.person.tenant.workspace, author.now);
    let mut tx = pool.begin().await?;
    let found = store::lock_session(&mut tx, workspace, session, now).await?;
    let LockedSession { actor, scopes, member } = found.ok_or(Error::NotFound("Session"))?;
    let scopes = ScopeSet::of_stored(&scopes);
    if let Some(scope) = by.lacks_to_end_of(Identity::of(&actor, member), scopes) {
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
