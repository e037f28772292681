//! SQL of members. A person who signs in is found in all workspaces, by address, account or the hash of a token.

use kernel::{Result, Timestamp, WorkspaceId, page::PageWindow};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;
use web::auth::ScopeSet;

use crate::{
    invitation::{Invitation, TokenHash},
    model::{Member, MemberId},
};

type Moment = chrono::DateTime<chrono::Utc>;

struct Row {
    id: Uuid,
    email: String,
    name: Option<String>,
    scopes: Vec<String>,
    has_password: bool,
    has_account: bool,
    created_at: Moment,
    updated_at: Moment,
    signed_in_at: Option<Moment>,
}

impl From<Row> for Member {
    fn from(row: Row) -> Self {
        Self {
            id: MemberId::new(row.id),
            email: row.email,
            name: row.name,
            scopes: ScopeSet::of_stored(&row.scopes),
            has_password: row.has_password,
            has_account: row.has_account,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
            signed_in_at: row.signed_in_at.map(Into::into),
        }
    }
}

/// A page of the members of a workspace by their addresses, and the number of all.
pub(crate) async fn list(
    pool: &PgPool,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<(Vec<Member>, u64)> {
    let total = sqlx::query_scalar!(
        r#"select count(*) as "count!" from member where workspace_id = $1"#,
        workspace.uuid(),
    )
    .fetch_one(pool)
    .await?;
    let rows = sqlx::query_as!(
        Row,
        r#"select id, email, name, scopes, password_hash is not null as "has_password!",
               oidc_subject is not null as "has_account!", created_at, updated_at, signed_in_at
           from member
           where workspace_id = $1
           order by email
           limit $2 offset $3"#,
        workspace.uuid(),
        window.limit(),
        window.offset(),
    )
    .fetch_all(pool)
    .await?;
    Ok((rows.into_iter().map(Member::from).collect(), u64::try_from(total).unwrap_or(0)))
}

/// Lets one member of a workspace be created at a time, so that their number stays within its limit.
pub(crate) async fn lock_members(tx: &mut PgConnection, workspace: WorkspaceId) -> Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtext('millrace.member'), hashtext($1)) is null as x",
        workspace.to_string(),
    )
    .fetch_one(tx)
    .await?;
    Ok(())
}

pub(crate) async fn count(tx: &mut PgConnection, workspace: WorkspaceId) -> Result<i64> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from member where workspace_id = $1"#,
        workspace.uuid(),
    );
    Ok(count.fetch_one(tx).await?)
}

/// Stores a member. Returns false where another has the address.
pub(crate) async fn insert(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    member: &Member,
) -> Result<bool> {
    let done = sqlx::query!(
        "insert into member (workspace_id, id, email, name, scopes, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $6)
         on conflict (workspace_id, email) do nothing",
        workspace.uuid(),
        member.id.uuid(),
        member.email,
        member.name,
        &member.scopes.to_stored(),
        member.created_at.utc(),
    )
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(crate) async fn get(
    pool: &PgPool,
    workspace: WorkspaceId,
    id: MemberId,
) -> Result<Option<Member>> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, email, name, scopes, password_hash is not null as "has_password!",
               oidc_subject is not null as "has_account!", created_at, updated_at, signed_in_at
           from member
           where workspace_id = $1 and id = $2"#,
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(pool)
    .await?;
    Ok(row.map(Member::from))
}

/// The member, kept from changes by others.
pub(crate) async fn lock(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: MemberId,
) -> Result<Option<Member>> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, email, name, scopes, password_hash is not null as "has_password!",
               oidc_subject is not null as "has_account!", created_at, updated_at, signed_in_at
           from member
           where workspace_id = $1 and id = $2
           for update"#,
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(tx)
    .await?;
    Ok(row.map(Member::from))
}

pub(crate) async fn update(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    member: &Member,
) -> Result<()> {
    sqlx::query!(
        "update member set name = $3, scopes = $4, updated_at = $5 where workspace_id = $1 and id = $2",
        workspace.uuid(),
        member.id.uuid(),
        member.name,
        &member.scopes.to_stored(),
        member.updated_at.utc(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Deletes a member with its invitations and sessions.
pub(crate) async fn delete(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: MemberId,
) -> Result<()> {
    sqlx::query!(
        "delete from member where workspace_id = $1 and id = $2",
        workspace.uuid(),
        id.uuid()
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(crate) async fn insert_invitation(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    member: MemberId,
    invitation: &Invitation,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "insert into member_invitation (workspace_id, token_sha256, member_id, created_at, expires_at)
         values ($1, $2, $3, $4, $5)",
        workspace.uuid(),
        &invitation.hash.0[..],
        member.uuid(),
        now.utc(),
        invitation.expires_at.utc(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(crate) async fn delete_invitations(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    member: MemberId,
) -> Result<()> {
    sqlx::query!(
        "delete from member_invitation where workspace_id = $1 and member_id = $2",
        workspace.uuid(),
        member.uuid(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// A membership that signs a person in.
pub(crate) struct Membership {
    pub(crate) workspace_id: Uuid,
    pub(crate) workspace_name: String,
    pub(crate) id: Uuid,
    pub(crate) email: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) password_hash: Option<String>,
}

/// Memberships that are looked at in one attempt to sign in.
const MEMBERSHIPS_MAX: i64 = 20;

/// The memberships of an address, of one workspace where it is named; the one used last first.
pub(crate) async fn of_email(
    pool: &PgPool,
    email: &str,
    workspace: Option<&str>,
) -> Result<Vec<Membership>> {
    let rows = sqlx::query_as!(
        Membership,
        "select m.workspace_id, w.name as workspace_name, m.id, m.email, m.scopes, m.password_hash
         from member m
         join workspace w on w.id = m.workspace_id
         where m.email = $1 and ($2::text is null or w.name = $2)
         order by m.signed_in_at desc nulls last, m.created_at
         limit $3",
        email,
        workspace,
        MEMBERSHIPS_MAX,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// The memberships of an account at an OpenID provider, of one workspace where it is named; the one used last first.
pub(crate) async fn of_account(
    pool: &PgPool,
    issuer: &str,
    subject: &str,
    workspace: Option<&str>,
) -> Result<Vec<Membership>> {
    let rows = sqlx::query_as!(
        Membership,
        "select m.workspace_id, w.name as workspace_name, m.id, m.email, m.scopes, m.password_hash
         from member m
         join workspace w on w.id = m.workspace_id
         where m.oidc_issuer = $1 and m.oidc_subject = $2 and ($3::text is null or w.name = $3)
         order by m.signed_in_at desc nulls last, m.created_at
         limit $4",
        issuer,
        subject,
        workspace,
        MEMBERSHIPS_MAX,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// Lets the memberships of an address get an account one at a time.
pub(crate) async fn lock_account(tx: &mut PgConnection, email: &str) -> Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtext('millrace.member_account'), hashtext($1)) is null as x",
        email,
    )
    .fetch_one(tx)
    .await?;
    Ok(())
}

/// Gives the memberships of an address that have no account yet this one, one of each workspace, unless another of the address
/// has another account of this provider.
pub(crate) async fn bind_account(
    tx: &mut PgConnection,
    email: &str,
    issuer: &str,
    subject: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update member m set oidc_issuer = $2, oidc_subject = $3, updated_at = $4
         where m.email = $1 and m.oidc_subject is null
             and not exists (
                 select from member other
                 where other.email = $1 and other.oidc_issuer = $2 and other.oidc_subject <> $3)
             and not exists (
                 select from member own
                 where own.workspace_id = m.workspace_id and own.oidc_issuer = $2 and own.oidc_subject = $3)",
        email,
        issuer,
        subject,
        now.utc(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(crate) async fn note_sign_in(
    pool: &PgPool,
    workspace: Uuid,
    member: Uuid,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update member set signed_in_at = $3 where workspace_id = $1 and id = $2",
        workspace,
        member,
        now.utc(),
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// The member that a link is for, while it holds.
pub(crate) async fn of_invitation(
    pool: &PgPool,
    token: TokenHash,
    now: Timestamp,
) -> Result<Option<Membership>> {
    let row = sqlx::query_as!(
        Membership,
        "select m.workspace_id, w.name as workspace_name, m.id, m.email, m.scopes, m.password_hash
         from member_invitation i
         join member m on m.workspace_id = i.workspace_id and m.id = i.member_id
         join workspace w on w.id = m.workspace_id
         where i.token_sha256 = $1 and i.expires_at > $2",
        &token.0[..],
        now.utc(),
    )
    .fetch_optional(pool)
    .await?;
    Ok(row)
}

/// Uses up a link: stores the password and ends the member's sessions. Returns whether the link held.
pub(crate) async fn use_invitation(
    pool: &PgPool,
    token: TokenHash,
    password_hash: &str,
    now: Timestamp,
) -> Result<bool> {
    let mut tx = pool.begin().await?;
    let used = sqlx::query!(
        "delete from member_invitation where token_sha256 = $1 and expires_at > $2
         returning workspace_id, member_id",
        &token.0[..],
        now.utc(),
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(used) = used else { return Ok(false) };
    sqlx::query!(
        "update member set password_hash = $3, updated_at = $4 where workspace_id = $1 and id = $2",
        used.workspace_id,
        used.member_id,
        password_hash,
        now.utc(),
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "update console_session set revoked_at = $3
         where workspace_id = $1 and member_id = $2 and revoked_at is null",
        used.workspace_id,
        used.member_id,
        now.utc(),
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(true)
}
