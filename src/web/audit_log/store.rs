//! SQL of the audit log.

use kernel::{Result, Timestamp, WorkspaceId, page::PageWindow};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};

use super::{Author, Change, Entry};

/// An entry as PostgreSQL stores it.
#[derive(Debug, Clone)]
pub struct AuditRow {
    /// Grows with each entry.
    pub seq: i64,
    pub action: String,
    /// What kind of thing was changed.
    pub object_kind: String,
    pub object_id: String,
    /// The name of what was changed, if it had one.
    pub object_name: Option<String>,
    /// The credential: `api_key:…`, `user:…`, `command_line`.
    pub actor: String,
    pub ip_address: Option<String>,
    pub user_agent: Option<String>,
    /// Further facts, an object.
    pub details: Value,
    pub created_at: Timestamp,
}

pub(super) async fn insert(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    author: &Author,
    entry: Entry<'_>,
) -> Result<()> {
    sqlx::query!(
        "insert into audit_log (workspace_id, action, object_kind, object_id, object_name, actor, \
                                ip_address, user_agent, details, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        workspace.uuid(),
        entry.change.as_str(),
        entry.change.object_kind(),
        entry.object_id,
        entry.object_name,
        author.actor,
        author.requester.ip.map(|ip| ip.to_string()),
        author.requester.user_agent,
        Value::Object(entry.details),
        author.now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn list(
    pool: &PgPool,
    workspace: WorkspaceId,
    change: Option<Change>,
    window: PageWindow,
) -> Result<(Vec<AuditRow>, u64)> {
    let action = change.map(Change::as_str);
    let total = sqlx::query_scalar!(
        "select count(*) as \"count!\"
         from audit_log
         where workspace_id = $1 and ($2::text is null or action = $2)",
        workspace.uuid(),
        action,
    )
    .fetch_one(pool)
    .await?;
    let rows = sqlx::query!(
        "select seq, action, object_kind, object_id, object_name, actor, ip_address, user_agent, \
                details, created_at
         from audit_log
         where workspace_id = $1 and ($2::text is null or action = $2)
         order by seq desc
         limit $3 offset $4",
        workspace.uuid(),
        action,
        window.limit(),
        window.offset(),
    )
    .fetch_all(pool)
    .await?;
    let rows = rows.into_iter().map(|row| AuditRow {
        seq: row.seq,
        action: row.action,
        object_kind: row.object_kind,
        object_id: row.object_id,
        object_name: row.object_name,
        actor: row.actor,
        ip_address: row.ip_address,
        user_agent: row.user_agent,
        details: row.details,
        created_at: row.created_at.into(),
    });
    Ok((rows.collect(), u64::try_from(total).unwrap_or(0)))
}
