//! Rows of the ledgers that callers add, look up and remove.

use chrono::{DateTime, Utc};
use kernel::{Error, ListId, Result, Timestamp, WorkspaceId};
use sqlx::{PgConnection, PgExecutor, PgPool};
use uuid::Uuid;

use crate::model::{Identifier, Import, Ledger, LedgerSize, Reason, Scope, Suppression};
use kernel::page::PageWindow;

struct Stored {
    channel: String,
    identifier: String,
    reason: String,
    source: String,
    list_id: Option<Uuid>,
    created_at: DateTime<Utc>,
}

impl Stored {
    fn suppression(self) -> Result<Suppression> {
        let ledger = Ledger::named(&self.channel);
        let reason = Reason::named(&self.reason);
        Ok(Suppression {
            ledger: ledger.ok_or_else(|| Error::internal("a suppression of no ledger"))?,
            identifier: Identifier::of_stored(self.identifier),
            reason: reason.ok_or_else(|| Error::internal("a suppression of no known reason"))?,
            source: self.source,
            scope: self.list_id.map_or(Scope::Global, |list| Scope::Group(ListId::new(list))),
            created_at: self.created_at.into(),
        })
    }
}

/// Adds a row for a credential, or finds the existing one, which stays as it is. Returns whether it is new.
pub(crate) async fn insert(
    executor: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    row: &Suppression,
    actor: &str,
) -> Result<(Suppression, bool)> {
    // The update changes nothing: it makes `returning` include the existing row, and locks it.
    let stored = sqlx::query!(
        "insert into suppression as s
             (workspace_id, id, channel, identifier, reason, source, scope, list_id, created_at, actor)
         values ($1, gen_random_uuid(), $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict on constraint suppression_unique do update
         set source = s.source
         returning channel, identifier, reason, source, list_id, created_at,
             (xmax = 0) as \"created!\"",
        workspace.uuid(),
        row.ledger.as_str(),
        row.identifier.as_str(),
        row.reason.as_str(),
        row.source,
        row.scope.as_str(),
        row.scope.list().map(ListId::uuid),
        row.created_at.utc(),
        actor,
    )
    .fetch_one(executor)
    .await?;
    let created = stored.created;
    let stored = Stored {
        channel: stored.channel,
        identifier: stored.identifier,
        reason: stored.reason,
        source: stored.source,
        list_id: stored.list_id,
        created_at: stored.created_at,
    };
    Ok((stored.suppression()?, created))
}

/// Adds global rows, except existing and repeated ones. Returns the number of new ones.
pub(crate) async fn insert_all(
    executor: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    now: Timestamp,
    import: Import<'_>,
) -> Result<u64> {
    let Import { ledger, source, actor, rows } = import;
    let identifiers: Vec<&str> = rows.iter().map(|row| row.identifier.as_str()).collect();
    let reasons: Vec<&str> = rows.iter().map(|row| row.reason.as_str()).collect();
    let done = sqlx::query!(
        "insert into suppression (workspace_id, id, channel, identifier, reason, source, scope, created_at, actor)
         select $1, gen_random_uuid(), $2, e.identifier, e.reason, $3, 'global', $4, $7
         from unnest($5::text[], $6::text[]) as e (identifier, reason)
         group by e.identifier, e.reason
         order by e.identifier, e.reason
         on conflict do nothing",
        workspace.uuid(),
        ledger.as_str(),
        source,
        now.utc(),
        &identifiers as _,
        &reasons as _,
        actor,
    )
    .execute(executor)
    .await?;
    Ok(done.rows_affected())
}

/// The number of rows that [`insert_all`] would add.
pub(crate) async fn count_new(
    db: &PgPool,
    workspace: WorkspaceId,
    import: Import<'_>,
) -> Result<u64> {
    let Import { ledger, rows, .. } = import;
    let identifiers: Vec<&str> = rows.iter().map(|row| row.identifier.as_str()).collect();
    let reasons: Vec<&str> = rows.iter().map(|row| row.reason.as_str()).collect();
    let new = sqlx::query_scalar!(
        "select count(*) as \"new!\"
         from (
             select * from unnest($3::text[], $4::text[]) as e (identifier, reason)
             except
             select identifier, reason from suppression
             where workspace_id = $1 and channel = $2 and identifier = any($3) and scope = 'global') as new",
        workspace.uuid(),
        ledger.as_str(),
        &identifiers as _,
        &reasons as _,
    )
    .fetch_one(db)
    .await?;
    Ok(new.unsigned_abs())
}

/// The row of an identifier that takes precedence.
pub(crate) async fn find(
    db: &PgPool,
    workspace: WorkspaceId,
    ledger: Ledger,
    identifier: &Identifier,
) -> Result<Option<Suppression>> {
    let row = sqlx::query_as!(
        Stored,
        "select channel, identifier, reason, source, list_id, created_at
         from suppression
         where workspace_id = $1 and channel = $2 and identifier = $3
         order by scope = 'global' desc,
             array_position(array['hard_bounce', 'complaint', 'unsubscribe', 'manual'], reason),
             created_at, id
         limit 1",
        workspace.uuid(),
        ledger.as_str(),
        identifier.as_str(),
    )
    .fetch_optional(db)
    .await?;
    row.map(Stored::suppression).transpose()
}

/// A page of a ledger, newest first, and the total number of matching rows.
pub(crate) async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    ledger: Ledger,
    reason: Option<Reason>,
    page: PageWindow,
) -> Result<(Vec<Suppression>, u64)> {
    let reason = reason.map(Reason::as_str);
    let rows = sqlx::query_as!(
        Stored,
        "select channel, identifier, reason, source, list_id, created_at
         from suppression
         where workspace_id = $1 and channel = $2 and ($3::text is null or reason = $3)
         order by created_at desc, id desc
         limit $4 offset $5",
        workspace.uuid(),
        ledger.as_str(),
        reason,
        page.limit(),
        page.offset(),
    )
    .fetch_all(db)
    .await?;
    let total = sqlx::query_scalar!(
        "select count(*) as \"total!\"
         from suppression
         where workspace_id = $1 and channel = $2 and ($3::text is null or reason = $3)",
        workspace.uuid(),
        ledger.as_str(),
        reason,
    )
    .fetch_one(db)
    .await?;
    let rows = rows.into_iter().map(Stored::suppression).collect::<Result<_>>()?;
    Ok((rows, total.unsigned_abs()))
}

/// Deletes every row of an identifier. Returns their reasons.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    ledger: Ledger,
    identifier: &Identifier,
) -> Result<Vec<Reason>> {
    let reasons = sqlx::query_scalar!(
        "with removed as (
             select s.id
             from suppression s
             where s.workspace_id = $1 and s.channel = $2 and s.identifier = $3
             order by s.reason, s.scope, s.list_id
             for update)
         delete from suppression s
         using removed r
         where s.workspace_id = $1 and s.id = r.id
         returning s.reason",
        workspace.uuid(),
        ledger.as_str(),
        identifier.as_str(),
    )
    .fetch_all(connection)
    .await?;
    Ok(reasons.iter().filter_map(|reason| Reason::named(reason)).collect())
}

/// Whether a list exists and is not archived.
pub(crate) async fn list_is_active(
    db: &PgPool,
    workspace: WorkspaceId,
    list: ListId,
) -> Result<bool> {
    let found = sqlx::query_scalar!(
        "select exists (
             select from subscription_list
             where workspace_id = $1 and id = $2 and archived_at is null) as \"found!\"",
        workspace.uuid(),
        list.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(found)
}

/// The number of rows in all workspaces, by channel and reason.
pub(crate) async fn count(db: &PgPool) -> Result<Vec<LedgerSize>> {
    let rows = sqlx::query!(
        "select channel, reason, count(*) as \"size!\"
         from suppression
         group by channel, reason",
    )
    .fetch_all(db)
    .await?;
    let known = rows.into_iter().filter_map(|row| {
        let (ledger, reason) = (Ledger::named(&row.channel)?, Reason::named(&row.reason)?);
        Some(LedgerSize { ledger, reason, rows: row.size.unsigned_abs() })
    });
    Ok(known.collect())
}
