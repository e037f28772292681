//! SQL of links and sessions. Both are found by the hash of their token, since the workspace is the result.

use kernel::{KeyId, OrganizationId, Result, Tenant, Timestamp, WorkspaceId, page::PageWindow};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;
use web::auth::{ScopeSet, SignedIn};

use super::token::TokenHash;

/// A link to store.
pub(super) struct LinkToStore<'l> {
    pub(super) workspace: WorkspaceId,
    pub(super) token: TokenHash,
    pub(super) actor: &'l str,
    pub(super) scopes: &'l [String],
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

/// Stores a link. Deletes those of the workspace that have expired.
pub(super) async fn insert_link(pool: &PgPool, link: &LinkToStore<'_>) -> Result<()> {
    let mut tx = pool.begin().await?;
    sqlx::query!(
        "delete from console_link where workspace_id = $1 and expires_at <= $2",
        link.workspace.uuid(),
        link.created_at.utc(),
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "insert into console_link (workspace_id, token_sha256, actor, scopes, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6)",
        link.workspace.uuid(),
        &link.token.0[..],
        link.actor,
        link.scopes,
        link.created_at.utc(),
        link.expires_at.utc(),
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}

/// Whose a session is.
pub(super) struct SessionOwner<'s> {
    pub(super) workspace: Uuid,
    pub(super) actor: &'s str,
    pub(super) scopes: &'s [String],
    /// The member, where it is one: the session ends with it, and has its scopes of the moment.
    pub(super) member: Option<Uuid>,
}

/// A session to store.
pub(super) struct SessionToStore<'s> {
    pub(super) id: KeyId,
    pub(super) token: TokenHash,
    pub(super) user_agent: Option<&'s str>,
    pub(super) address: Option<&'s str>,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

/// Uses up a link and stores the session in its stead, in one transaction. Returns whether the link signs in. Deletes
/// sessions of the workspace that have expired.
pub(super) async fn exchange(
    pool: &PgPool,
    link: TokenHash,
    new: &SessionToStore<'_>,
) -> Result<bool> {
    let mut tx = pool.begin().await?;
    let used = sqlx::query!(
        "update console_link set used_at = $2
         where token_sha256 = $1 and used_at is null and expires_at > $2
         returning workspace_id, actor, scopes",
        &link.0[..],
        new.created_at.utc(),
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(used) = used else { return Ok(false) };
    let owner = SessionOwner {
        workspace: used.workspace_id,
        actor: &used.actor,
        scopes: &used.scopes,
        member: None,
    };
    insert_session(&mut tx, &owner, new).await?;
    tx.commit().await?;
    Ok(true)
}

/// Stores a session. Deletes those of the workspace that have expired.
pub(super) async fn insert_session(
    connection: &mut PgConnection,
    owner: &SessionOwner<'_>,
    new: &SessionToStore<'_>,
) -> Result<()> {
    sqlx::query!(
        "delete from console_session where workspace_id = $1 and expires_at <= $2",
        owner.workspace,
        new.created_at.utc(),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "insert into console_session (workspace_id, id, token_sha256, actor, scopes, user_agent, address,
             created_at, last_used_at, expires_at, member_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)",
        owner.workspace,
        new.id.as_str(),
        &new.token.0[..],
        owner.actor,
        owner.scopes,
        new.user_agent,
        new.address,
        new.created_at.utc(),
        new.expires_at.utc(),
        owner.member,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A session that was found.
pub(super) struct FoundSession {
    pub(super) person: SignedIn,
    pub(super) member: Option<Uuid>,
    pub(super) workspace_name: String,
    pub(super) last_used_at: Timestamp,
}

/// The live session of a token. Revocations of dashboard sessions count for those of the console, too.
pub(super) async fn find_session(
    pool: &PgPool,
    token: TokenHash,
    now: Timestamp,
) -> Result<Option<FoundSession>> {
    let row = sqlx::query!(
        r#"select s.workspace_id, s.id, s.actor, coalesce(m.scopes, s.scopes) as "scopes!", s.last_used_at,
                s.member_id, w.organization_id, w.name as workspace_name, w.currency, w.timezone
         from console_session s
         join workspace w on w.id = s.workspace_id
         left join member m on m.workspace_id = s.workspace_id and m.id = s.member_id
         where s.token_sha256 = $1 and s.revoked_at is null and s.expires_at > $2
             and not exists (
                 select from revoked_session r
                 where r.workspace_id = s.workspace_id
                     and (r.kind = 'session' and r.name = s.id
                         or r.kind = 'actor' and r.name = s.actor and r.revoked_at >= s.created_at))"#,
        &token.0[..],
        now.utc(),
    )
    .fetch_optional(pool)
    .await?;
    // The id was written by this program, so it can be read.
    Ok(row.and_then(|row| {
        let person = SignedIn {
            session: row.id.parse().ok()?,
            tenant: Tenant {
                organization: OrganizationId::new(row.organization_id),
                workspace: WorkspaceId::new(row.workspace_id),
            },
            actor: row.actor,
            scopes: ScopeSet::of_stored(&row.scopes),
            currency: row.currency,
            timezone: row.timezone,
        };
        let (workspace_name, used) = (row.workspace_name, row.last_used_at);
        let member = row.member_id;
        Some(FoundSession { person, member, workspace_name, last_used_at: used.into() })
    }))
}

/// What a session may do now; none once it has ended.
pub(super) async fn present_scopes(
    pool: &PgPool,
    workspace: WorkspaceId,
    session: KeyId,
    now: Timestamp,
) -> Result<Option<ScopeSet>> {
    let scopes = sqlx::query_scalar!(
        r#"select coalesce(m.scopes, s.scopes) as "scopes!"
         from console_session s
         left join member m on m.workspace_id = s.workspace_id and m.id = s.member_id
         where s.workspace_id = $1 and s.id = $2 and s.revoked_at is null and s.expires_at > $3
             and not exists (
                 select from revoked_session r
                 where r.workspace_id = s.workspace_id
                     and (r.kind = 'session' and r.name = s.id
                         or r.kind = 'actor' and r.name = s.actor and r.revoked_at >= s.created_at))"#,
        workspace.uuid(),
        session.as_str(),
        now.utc(),
    )
    .fetch_optional(pool)
    .await?;
    Ok(scopes.map(|scopes| ScopeSet::of_stored(&scopes)))
}

/// Stores that a session was used now.
pub(super) async fn note_use(
    pool: &PgPool,
    workspace: WorkspaceId,
    session: KeyId,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update console_session set last_used_at = $3 where workspace_id = $1 and id = $2",
        workspace.uuid(),
        session.as_str(),
        now.utc(),
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// A session of another person that is to end.
pub(super) struct LockedSession {
    pub(super) actor: String,
    pub(super) scopes: Vec<String>,
    pub(super) member: Option<Uuid>,
}

/// A live session, kept from changes by others until it is ended.
pub(super) async fn lock_session(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    session: KeyId,
    now: Timestamp,
) -> Result<Option<LockedSession>> {
    let row = sqlx::query_as!(
        LockedSession,
        r#"select s.actor, coalesce(m.scopes, s.scopes) as "scopes!", s.member_id as member
         from console_session s
         left join member m on m.workspace_id = s.workspace_id and m.id = s.member_id
         where s.workspace_id = $1 and s.id = $2 and s.revoked_at is null and s.expires_at > $3
             and not exists (
                 select from revoked_session r
                 where r.workspace_id = s.workspace_id
                     and (r.kind = 'session' and r.name = s.id
                         or r.kind = 'actor' and r.name = s.actor and r.revoked_at >= s.created_at))
         for update of s"#,
        workspace.uuid(),
        session.as_str(),
        now.utc(),
    )
    .fetch_optional(tx)
    .await?;
    Ok(row)
}

/// Ends a session; one that has ended stays as it is.
pub(super) async fn revoke(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    session: KeyId,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update console_session set revoked_at = coalesce(revoked_at, $3)
         where workspace_id = $1 and id = $2",
        workspace.uuid(),
        session.as_str(),
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A session in a list.
#[derive(Debug, Clone)]
pub struct SessionRow {
    pub id: String,
    pub actor: String,
    pub scopes: Vec<String>,
    pub(super) member: Option<Uuid>,
    pub user_agent: Option<String>,
    pub address: Option<String>,
    pub created_at: Timestamp,
    /// The last use, to the minute or so.
    pub last_used_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A page of the live sessions of a workspace, newest first.
#[derive(Debug, Clone)]
pub struct SessionsPage {
    pub rows: Vec<SessionRow>,
    /// Whether there are some after these.
    pub has_more: bool,
}

pub(super) async fn list_sessions(
    pool: &PgPool,
    workspace: WorkspaceId,
    window: PageWindow,
    now: Timestamp,
) -> Result<SessionsPage> {
    let mut rows = sqlx::query_as!(
        SessionRow,
        r#"select s.id, s.actor, coalesce(m.scopes, s.scopes) as "scopes!", s.member_id as member, s.user_agent,
                s.address, s.created_at, s.last_used_at, s.expires_at
         from console_session s
         left join member m on m.workspace_id = s.workspace_id and m.id = s.member_id
         where s.workspace_id = $1 and s.revoked_at is null and s.expires_at > $2
             and not exists (
                 select from revoked_session r
                 where r.workspace_id = s.workspace_id
                     and (r.kind = 'session' and r.name = s.id
                         or r.kind = 'actor' and r.name = s.actor and r.revoked_at >= s.created_at))
         order by s.created_at desc, s.id
         limit $3 offset $4"#,
        workspace.uuid(),
        now.utc(),
        window.limit() + 1,
        window.offset(),
    )
    .fetch_all(pool)
    .await?;
    let limit = usize::try_from(window.limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    Ok(SessionsPage { rows, has_more })
}
