//! Rows of saved insights.

use chrono::{DateTime, Utc};
use kernel::{InsightId, Result, WorkspaceId, page::PageWindow};
use serde_json::Value;
use sqlx::{PgConnection, PgExecutor, PgPool};
use uuid::Uuid;

use crate::model::saved::{Insight, Kind, SAVED_MAX};

struct Row {
    id: Uuid,
    name: String,
    kind: String,
    question: Value,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl TryFrom<Row> for Insight {
    type Error = kernel::Error;

    fn try_from(row: Row) -> Result<Self> {
        let Value::Object(question) = row.question else {
            return Err(kernel::Error::internal("a saved question is no object"));
        };
        Ok(Self {
            id: InsightId::new(row.id),
            name: row.name,
            kind: Kind::stored(&row.kind)?,
            question,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        })
    }
}

/// Inserts an insight; false where the workspace has as many as it may have.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    actor: &str,
    new: &Insight,
) -> Result<bool> {
    let done = sqlx::query!(
        "insert into insight (workspace_id, id, name, kind, question, created_by, updated_by, created_at, updated_at)
         select $1, $2, $3, $4, $5, $6, $6, $7, $7
         where (select count(*) from insight where workspace_id = $1) < $8",
        workspace.uuid(),
        new.id.uuid(),
        new.name,
        new.kind.as_str(),
        Value::Object(new.question.clone()),
        actor,
        new.created_at.utc(),
        SAVED_MAX,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A page of insights, newest first.
pub(crate) async fn page(
    db: &PgPool,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<Vec<Insight>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, name, kind, question, created_at, updated_at
         from insight
         where workspace_id = $1
         order by created_at desc, id desc
         limit $2 offset $3",
        workspace.uuid(),
        i64::from(window.limit),
        i64::try_from(window.offset).unwrap_or(i64::MAX),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Insight::try_from).collect()
}

/// The number of insights of a workspace.
pub(crate) async fn count(db: &PgPool, workspace: WorkspaceId) -> Result<u64> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from insight where workspace_id = $1"#,
        workspace.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// An insight of a workspace.
pub(crate) async fn find(
    db: &PgPool,
    workspace: WorkspaceId,
    id: InsightId,
) -> Result<Option<Insight>> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, kind, question, created_at, updated_at
         from insight
         where workspace_id = $1 and id = $2",
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(Insight::try_from).transpose()
}

/// An insight of a workspace, which no other transaction changes before this one ends.
pub(crate) async fn find_to_change(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: InsightId,
) -> Result<Option<Insight>> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, kind, question, created_at, updated_at
         from insight
         where workspace_id = $1 and id = $2
         for update",
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(tx)
    .await?;
    row.map(Insight::try_from).transpose()
}

/// Writes a changed insight; false where it is gone.
pub(crate) async fn update(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    actor: &str,
    insight: &Insight,
) -> Result<bool> {
    let done = sqlx::query!(
        "update insight
         set name = $3, kind = $4, question = $5, updated_by = $6, updated_at = $7
         where workspace_id = $1 and id = $2",
        workspace.uuid(),
        insight.id.uuid(),
        insight.name,
        insight.kind.as_str(),
        Value::Object(insight.question.clone()),
        actor,
        insight.updated_at.utc(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes an insight; false where there is none.
pub(crate) async fn delete(db: &PgPool, workspace: WorkspaceId, id: InsightId) -> Result<bool> {
    let done = sqlx::query!(
        "delete from insight where workspace_id = $1 and id = $2",
        workspace.uuid(),
        id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
