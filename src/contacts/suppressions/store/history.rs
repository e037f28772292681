//! Rows that were added and removed. A trigger of the database keeps what is removed.

use chrono::{DateTime, Utc};
use kernel::{Error, ListId, Result, WorkspaceId, page::PageWindow};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;
use web::audit::Origin;

use crate::model::{HistoryAction, HistoryEntry, LedgerAddress, Reason, Scope};

/// Names who removes rows in this transaction from now on.
pub(crate) async fn note_origin(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    origin: &Origin,
) -> Result<()> {
    sqlx::query!(
        "select set_config('millrace.removal_workspace', $1, true) as workspace,
             set_config('millrace.removal_source', $2, true) as source,
             set_config('millrace.removal_actor', $3, true) as actor",
        workspace.uuid().to_string(),
        origin.source,
        origin.actor,
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}

struct Stored {
    action: String,
    at: DateTime<Utc>,
    reason: String,
    source: Option<String>,
    list_id: Option<Uuid>,
    actor: Option<String>,
}

impl Stored {
    fn entry(self) -> Result<HistoryEntry> {
        let action = HistoryAction::named(&self.action);
        let reason = Reason::named(&self.reason);
        Ok(HistoryEntry {
            action: action.ok_or_else(|| Error::internal("an entry of no known action"))?,
            at: self.at.into(),
            reason: reason.ok_or_else(|| Error::internal("a suppression of no known reason"))?,
            source: self.source,
            scope: self.list_id.map_or(Scope::Global, |list| Scope::Group(ListId::new(list))),
            actor: self.actor,
        })
    }
}

/// A page of the history of an identifier, newest first, and the total number of entries.
pub(crate) async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    address: &LedgerAddress,
    page: PageWindow,
) -> Result<(Vec<HistoryEntry>, u64)> {
    let LedgerAddress { ledger, identifier } = address;
    // Of one moment a row is removed after another was added.
    let rows = sqlx::query_as!(
        Stored,
        r#"select action as "action!", at as "at!", reason as "reason!", source, list_id, actor
           from (
               select 'added' as action, created_at as at, reason, source, list_id, actor, id
               from suppression
               where workspace_id = $1 and channel = $2 and identifier = $3
               union all
               select 'added', created_at, reason, source, list_id, actor, id
               from suppression_removal
               where workspace_id = $1 and channel = $2 and identifier = $3
               union all
               select 'removed', removed_at, reason, removed_source, list_id, removed_actor, id
               from suppression_removal
               where workspace_id = $1 and channel = $2 and identifier = $3) as entry
           order by at desc, action desc, id desc
           limit $4 offset $5"#,
        workspace.uuid(),
        ledger.as_str(),
        identifier.as_str(),
        page.limit(),
        page.offset(),
    )
    .fetch_all(db)
    .await?;
    let total = sqlx::query_scalar!(
        r#"select (
               select count(*) from suppression
               where workspace_id = $1 and channel = $2 and identifier = $3)
           + 2 * (
               select count(*) from suppression_removal
               where workspace_id = $1 and channel = $2 and identifier = $3) as "total!""#,
        workspace.uuid(),
        ledger.as_str(),
        identifier.as_str(),
    )
    .fetch_one(db)
    .await?;
    let entries = rows.into_iter().map(Stored::entry).collect::<Result<_>>()?;
    Ok((entries, total.unsigned_abs()))
}
