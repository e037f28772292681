//! SQL of organizations, workspaces and keys. Keys are found by their id alone, because the workspace is the
//! result of the lookup.

use kernel::{Country, KeyId, OrganizationId, Result, Timestamp, WorkspaceId, page::PageWindow};
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::{
    credential::{Credential, Used},
    scope::ScopeSet,
    sessions::Session,
    token::{KeyKind, SecretHash},
};

/// A key in a list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRow {
    pub id: String,
    pub kind: String,
    pub label: Option<String>,
    pub scopes: Vec<String>,
    pub created_at: Timestamp,
    /// The last use, to the minute or so.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// A row of a live key with its workspace.
struct LiveKeyRow {
    id: String,
    kind: String,
    secret_sha256: Vec<u8>,
    scopes: Vec<String>,
    workspace_id: Uuid,
    organization_id: Uuid,
    currency: Option<String>,
    timezone: String,
}

impl LiveKeyRow {
    /// `None` for a row that this version cannot read, which the table's constraints prevent.
    fn credential(self) -> Option<Credential> {
        Some(Credential {
            id: self.id.parse().ok()?,
            kind: KeyKind::of_stored(&self.kind)?,
            hash: SecretHash(self.secret_sha256.try_into().ok()?),
            scopes: ScopeSet::of_stored(&self.scopes),
            workspace: WorkspaceId::new(self.workspace_id),
            organization: OrganizationId::new(self.organization_id),
            currency: self.currency,
            timezone: self.timezone,
            used_ms: Used::not_yet(),
        })
    }
}

/// The live keys among these ids.
pub(super) async fn live_keys(
    pool: &PgPool,
    ids: &[KeyId],
) -> Result<Vec<Credential>, sqlx::Error> {
    let ids: Vec<String> = ids.iter().map(KeyId::to_string).collect();
    let rows = sqlx::query_as!(
        LiveKeyRow,
        "select k.id, k.kind, k.secret_sha256, k.scopes, k.workspace_id, w.organization_id, \
                w.currency, w.timezone
         from api_key k
         join workspace w on w.id = k.workspace_id
         where k.id = any($1) and k.revoked_at is null",
        &ids,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().filter_map(LiveKeyRow::credential).collect())
}

/// The organization of a session's workspace; `None` for a deleted workspace or a revoked session.
pub(super) async fn organization_of_session(
    pool: &PgPool,
    session: &Session,
) -> Result<Option<OrganizationId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "select organization_id
         from workspace
         where id = $1 and not exists (
             select from revoked_session r
             where r.workspace_id = $1
                 and (r.kind = 'session' and r.name = $2
                     or r.kind = 'actor' and r.name = $3
                         and ($4::timestamptz is null or r.revoked_at >= $4)))",
        session.workspace.uuid(),
        session.id.as_deref(),
        session.actor,
        session.issued_at.map(Timestamp::utc),
    )
    .fetch_optional(pool)
    .await?;
    Ok(id.map(OrganizationId::new))
}

/// Sessions to revoke: those of a `kind` (`session`, `actor`) with this name.
pub(super) struct RevokedSessions<'r> {
    pub(super) kind: &'r str,
    pub(super) name: &'r str,
}

/// Revokes a session by its id, or an actor's sessions. Deletes expired revocations.
pub(super) async fn revoke_sessions(
    pool: &PgPool,
    workspace: WorkspaceId,
    revoked: &RevokedSessions<'_>,
    now: Timestamp,
    expires: Timestamp,
) -> Result<()> {
    let mut tx = pool.begin().await?;
    sqlx::query!(
        "delete from revoked_session where workspace_id = $1 and expires_at <= $2",
        workspace.uuid(),
        now.utc(),
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "insert into revoked_session as known (workspace_id, kind, name, revoked_at, expires_at)
         values ($1, $2, $3, $4, $5)
         on conflict (workspace_id, kind, name) do update
         set revoked_at = greatest(known.revoked_at, excluded.revoked_at),
             expires_at = greatest(known.expires_at, excluded.expires_at)",
        workspace.uuid(),
        revoked.kind,
        revoked.name,
        now.utc(),
        expires.utc(),
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}

/// A number that changes with every change that concerns cached keys.
pub(super) async fn revision(pool: &PgPool) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!("select revision from auth_revision").fetch_one(pool).await
}

/// The last use of a key.
pub(super) struct KeyUse {
    pub(super) key: KeyId,
    pub(super) workspace: WorkspaceId,
    pub(super) at: Timestamp,
}

/// Stores the last uses of keys; a later stored time stays.
pub(super) async fn store_uses(pool: &PgPool, uses: &[KeyUse]) -> Result<(), sqlx::Error> {
    let ids: Vec<String> = uses.iter().map(|used| used.key.to_string()).collect();
    let workspaces: Vec<Uuid> = uses.iter().map(|used| used.workspace.uuid()).collect();
    let moments: Vec<_> = uses.iter().map(|used| used.at.utc()).collect();
    sqlx::query!(
        "update api_key k
         set last_used_at = greatest(k.last_used_at, used.at)
         from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as used (workspace_id, id, at)
         where k.workspace_id = used.workspace_id and k.id = used.id",
        &workspaces,
        &ids,
        &moments,
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// A workspace, found by its name.
pub(super) struct NamedWorkspace {
    pub(super) id: Uuid,
    pub(super) organization_name: String,
}

/// Serialises the creation of workspaces, so that two requests for one name get the same workspace.
pub(super) async fn lock_names(connection: &mut PgConnection) -> Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtext('millrace.workspace.name')) is null as x")
        .fetch_one(connection)
        .await?;
    Ok(())
}

pub(super) async fn find_workspace(
    connection: &mut PgConnection,
    name: &str,
) -> Result<Option<NamedWorkspace>> {
    let found = sqlx::query_as!(
        NamedWorkspace,
        "select w.id, o.name as organization_name
         from workspace w
         join organization o on o.id = w.organization_id
         where w.name = $1",
        name,
    )
    .fetch_optional(connection)
    .await?;
    Ok(found)
}

pub(super) async fn find_organization(
    connection: &mut PgConnection,
    name: &str,
) -> Result<Option<OrganizationId>> {
    let id = sqlx::query_scalar!("select id from organization where name = $1", name)
        .fetch_optional(connection)
        .await?;
    Ok(id.map(OrganizationId::new))
}

pub(super) async fn insert_organization(
    connection: &mut PgConnection,
    id: OrganizationId,
    name: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "insert into organization (id, name, created_at) values ($1, $2, $3)",
        id.uuid(),
        name,
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn insert_workspace(
    connection: &mut PgConnection,
    id: WorkspaceId,
    organization: OrganizationId,
    name: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "insert into workspace (id, organization_id, name, created_at) values ($1, $2, $3, $4)",
        id.uuid(),
        organization.uuid(),
        name,
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn set_currency(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    currency: &str,
) -> Result<()> {
    sqlx::query!("update workspace set currency = $2 where id = $1", workspace.uuid(), currency)
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn set_country(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    country: Country,
) -> Result<()> {
    sqlx::query!(
        "update workspace set country = $2 where id = $1",
        workspace.uuid(),
        country.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A key to store.
pub(super) struct KeyToStore<'k> {
    pub(super) id: KeyId,
    pub(super) kind: KeyKind,
    pub(super) label: Option<&'k str>,
    pub(super) hash: SecretHash,
    pub(super) scopes: &'k [String],
}

pub(super) async fn insert_key(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    key: KeyToStore<'_>,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "insert into api_key (workspace_id, id, kind, label, secret_sha256, scopes, created_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        workspace.uuid(),
        key.id.as_str(),
        key.kind.as_str(),
        key.label,
        &key.hash.0[..],
        key.scopes,
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn list_keys(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
) -> Result<Vec<KeyRow>> {
    let rows = sqlx::query!(
        "select id, kind, label, scopes, created_at, last_used_at, revoked_at
         from api_key
         where workspace_id = $1
         order by created_at, id",
        workspace.uuid(),
    )
    .fetch_all(connection)
    .await?;
    let rows = rows.into_iter().map(|row| KeyRow {
        id: row.id,
        kind: row.kind,
        label: row.label,
        scopes: row.scopes,
        created_at: row.created_at.into(),
        last_used_at: row.last_used_at.map(Into::into),
        revoked_at: row.revoked_at.map(Into::into),
    });
    Ok(rows.collect())
}

/// Lets one key of a workspace be created at a time, so that their number stays within its limit.
pub(super) async fn lock_keys(connection: &mut PgConnection, workspace: WorkspaceId) -> Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtext('millrace.api_key'), hashtext($1)) is null as x",
        workspace.to_string(),
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}

pub(super) async fn count_live_keys(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
) -> Result<i64> {
    let count = sqlx::query_scalar!(
        "select count(*) as \"count!\" from api_key where workspace_id = $1 and revoked_at is null",
        workspace.uuid(),
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub(super) async fn page_of_keys(
    pool: &PgPool,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<(Vec<KeyRow>, u64)> {
    let total = sqlx::query_scalar!(
        "select count(*) as \"count!\" from api_key where workspace_id = $1",
        workspace.uuid(),
    )
    .fetch_one(pool)
    .await?;
    let rows = sqlx::query!(
        "select id, kind, label, scopes, created_at, last_used_at, revoked_at
         from api_key
         where workspace_id = $1
         order by created_at desc, id
         limit $2 offset $3",
        workspace.uuid(),
        window.limit(),
        window.offset(),
    )
    .fetch_all(pool)
    .await?;
    let rows = rows.into_iter().map(|row| KeyRow {
        id: row.id,
        kind: row.kind,
        label: row.label,
        scopes: row.scopes,
        created_at: row.created_at.into(),
        last_used_at: row.last_used_at.map(Into::into),
        revoked_at: row.revoked_at.map(Into::into),
    });
    Ok((rows.collect(), u64::try_from(total).unwrap_or(0)))
}

/// A key that is about to be revoked.
pub(super) struct KeyToRevoke {
    pub(super) workspace: Uuid,
    pub(super) label: Option<String>,
    pub(super) is_revoked: bool,
}

/// Finds a key in any workspace, and keeps others from revoking it meanwhile.
pub(super) async fn key_to_revoke(
    connection: &mut PgConnection,
    id: KeyId,
) -> Result<Option<KeyToRevoke>> {
    let found = sqlx::query_as!(
        KeyToRevoke,
        "select workspace_id as workspace, label, revoked_at is not null as \"is_revoked!\"
         from api_key
         where id = $1
         for update",
        id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(found)
}

pub(super) async fn revoke_key(
    connection: &mut PgConnection,
    id: KeyId,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!("update api_key set revoked_at = $2 where id = $1", id.as_str(), now.utc())
        .execute(connection)
        .await?;
    Ok(())
}

/// Whether a workspace exists.
pub(super) async fn any_workspace(pool: &PgPool) -> Result<bool> {
    let found = sqlx::query_scalar!("select exists (select from workspace) as \"found!\"")
        .fetch_one(pool)
        .await?;
    Ok(found)
}
