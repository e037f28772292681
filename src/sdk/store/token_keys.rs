//! The secrets and public keys that verify user tokens.

use kernel::{Error, Result, Timestamp, WorkspaceId};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::model::{KeyAlgorithm, PublicKey};

/// Serialises changes to the keys of a workspace until the transaction ends.
pub(crate) async fn lock(tx: &mut PgConnection, workspace: WorkspaceId) -> Result<()> {
    sqlx::query!("select id from workspace where id = $1 for no key update", workspace.uuid())
        .fetch_optional(tx)
        .await?;
    Ok(())
}

/// The sealed secrets of a workspace that are valid at a time, the current one first.
pub(crate) async fn secrets(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<Vec<String>> {
    let sealed = sqlx::query_scalar!(
        "select sealed
         from sdk_secret
         where workspace_id = $1 and (retires_at is null or retires_at > $2)
         order by retires_at desc nulls first",
        workspace.uuid(),
        now.utc(),
    )
    .fetch_all(db)
    .await?;
    Ok(sealed)
}

/// The current secret of a workspace, sealed.
pub(crate) async fn current_secret(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
) -> Result<Option<String>> {
    let sealed = sqlx::query_scalar!(
        "select sealed from sdk_secret where workspace_id = $1 and retires_at is null",
        workspace.uuid(),
    )
    .fetch_optional(tx)
    .await?;
    Ok(sealed)
}

/// Retires the current secret at `until`, and deletes expired ones.
pub(crate) async fn retire_secrets(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    until: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "delete from sdk_secret where workspace_id = $1 and retires_at <= $2",
        workspace.uuid(),
        now.utc(),
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "update sdk_secret set retires_at = $2 where workspace_id = $1 and retires_at is null",
        workspace.uuid(),
        until.utc(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(crate) async fn insert_secret(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    sealed: &str,
) -> Result<()> {
    sqlx::query!(
        "insert into sdk_secret (workspace_id, id, sealed, created_at) values ($1, $2, $3, $4)",
        workspace.uuid(),
        Uuid::now_v7(),
        sealed,
        now.utc(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

#[derive(Debug, Clone)]
pub struct RegisteredKey {
    pub key: PublicKey,
    pub created_at: Timestamp,
}

/// The public keys of a workspace, the oldest first.
pub(crate) async fn public_keys(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
) -> Result<Vec<RegisteredKey>> {
    let rows = sqlx::query!(
        "select id, algorithm, pem, created_at
         from sdk_public_key
         where workspace_id = $1
         order by created_at, id",
        workspace.uuid(),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let algorithm = KeyAlgorithm::named(&row.algorithm)
                .ok_or_else(|| Error::internal("a public key of no known algorithm"))?;
            let key = PublicKey { id: row.id, algorithm, pem: row.pem };
            Ok(RegisteredKey { key, created_at: row.created_at.into() })
        })
        .collect()
}

/// Registers a public key; one that is registered already stays unchanged.
pub(crate) async fn insert_public_key(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    key: &PublicKey,
) -> Result<()> {
    sqlx::query!(
        "insert into sdk_public_key (workspace_id, id, algorithm, pem, created_at)
         values ($1, $2, $3, $4, $5)
         on conflict do nothing",
        workspace.uuid(),
        key.id,
        key.algorithm.as_str(),
        key.pem,
        now.utc(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Deletes a public key; false if there is none with this id.
pub(crate) async fn delete_public_key(db: impl PgExecutor<'_>, id: &str) -> Result<bool> {
    let done = sqlx::query!("delete from sdk_public_key where id = $1", id).execute(db).await?;
    Ok(done.rows_affected() > 0)
}
