//! A workspace's template.

use kernel::{Error, Result, Timestamp, WorkspaceId};
use sqlx::PgConnection;

use crate::hosted_page::model::{Mode, PageTemplate};

fn mode(text: &str) -> Result<Mode> {
    let known = Mode::NAMED.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode);
    known.ok_or_else(|| Error::internal("a template of no known mode"))
}

/// The template; the built-in one before the first is saved.
pub(in crate::hosted_page) async fn find(
    db: impl sqlx::PgExecutor<'_>,
    workspace: WorkspaceId,
) -> Result<PageTemplate> {
    let row = sqlx::query!(
        "select mode, html, redirect_url, design_json, updated_at
         from preference_template where workspace_id = $1",
        workspace.uuid(),
    )
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(PageTemplate::default()) };
    Ok(PageTemplate {
        mode: mode(&row.mode)?,
        html: row.html,
        redirect_url: row.redirect_url,
        design_json: row.design_json.and_then(|design| match design {
            serde_json::Value::Object(map) => Some(map),
            _ => None,
        }),
        updated_at: Some(row.updated_at.into()),
    })
}

/// Stores the result of `change`. The row is locked, so that concurrent changes are not lost.
pub(in crate::hosted_page) async fn save(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    change: impl FnOnce(PageTemplate) -> Result<PageTemplate>,
) -> Result<PageTemplate> {
    sqlx::query!("select id from workspace where id = $1 for no key update", workspace.uuid())
        .fetch_one(&mut *tx)
        .await?;
    let mut template = change(find(&mut *tx, workspace).await?)?;
    template.updated_at = Some(now);
    sqlx::query!(
        "insert into preference_template (workspace_id, mode, html, redirect_url, design_json, updated_at)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (workspace_id) do update
         set mode = $2, html = $3, redirect_url = $4, design_json = $5, updated_at = $6",
        workspace.uuid(),
        template.mode.as_str(),
        template.html,
        template.redirect_url,
        template.design_json.clone().map(serde_json::Value::Object),
        now.utc(),
    )
    .execute(tx)
    .await?;
    Ok(template)
}
