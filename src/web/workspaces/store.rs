//! Workspaces in PostgreSQL.

use kernel::{Result, WorkspaceId};
use sqlx::{AssertSqlSafe, PgPool};

use super::{WorkspaceChanges, WorkspaceRow};

const ROWS: &str = "\
select w.id, w.name, o.name as organization, w.currency, w.timezone, w.country, w.events_days,
    w.message_events_days, w.deleted_profiles_days
from workspace w join organization o on o.id = w.organization_id";

pub(super) async fn list(db: &PgPool) -> Result<Vec<WorkspaceRow>> {
    let statement = AssertSqlSafe(format!("{ROWS} order by w.name"));
    Ok(sqlx::query_as(statement).fetch_all(db).await?)
}

pub(super) async fn find(db: &PgPool, workspace: WorkspaceId) -> Result<Option<WorkspaceRow>> {
    let statement = AssertSqlSafe(format!("{ROWS} where w.id = $1"));
    Ok(sqlx::query_as(statement).bind(workspace.uuid()).fetch_optional(db).await?)
}

/// Whether there is one of this name.
pub(super) async fn set(
    db: &PgPool,
    name: &str,
    currency: Option<&str>,
    changes: &WorkspaceChanges,
) -> Result<bool> {
    let stored = |days: Option<super::Days>| days.and_then(super::Days::stored);
    let done = sqlx::query(
        "update workspace set
             currency = coalesce($2, currency),
             timezone = coalesce($3, timezone),
             country = coalesce($4, country),
             events_days = case when $5 then $6 else events_days end,
             message_events_days = case when $7 then $8 else message_events_days end,
             deleted_profiles_days = case when $9 then $10 else deleted_profiles_days end
         where name = $1",
    )
    .bind(name)
    .bind(currency)
    .bind(&changes.timezone)
    .bind(changes.country.map(|country| country.to_string()))
    .bind(changes.events.is_some())
    .bind(stored(changes.events))
    .bind(changes.message_events.is_some())
    .bind(stored(changes.message_events))
    .bind(changes.deleted_profiles.is_some())
    .bind(stored(changes.deleted_profiles))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
