//! Where short links lead.

use kernel::{Error, MessageId, Result, Timestamp, WorkspaceId};
use providers::model::Reference;
use sqlx::{PgConnection, PgPool};

use crate::render::ShortLink;

/// Keeps the short links of messages, before those leave. Links that are kept already stay.
///
/// # Errors
/// When the store fails, or a code is another link's: then this one would lead elsewhere.
pub async fn save(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    links: &[(MessageId, ShortLink)],
    now: Timestamp,
) -> Result<()> {
    if links.is_empty() {
        return Ok(());
    }
    let codes: Vec<&str> = links.iter().map(|(_, link)| link.code.as_str()).collect();
    let messages: Vec<uuid::Uuid> = links.iter().map(|(message, _)| message.uuid()).collect();
    let targets: Vec<&str> = links.iter().map(|(_, link)| link.target.as_str()).collect();
    let done = sqlx::query!(
        "insert into short_link (code, workspace_id, message_id, target, created_at)
         select k.code, $1, k.message_id, k.target, $5
         from unnest($2::text[], $3::uuid[], $4::text[]) as k (code, message_id, target)
         on conflict (code) do update set code = excluded.code
         where short_link.workspace_id = excluded.workspace_id
             and short_link.message_id = excluded.message_id
             and short_link.target = excluded.target",
        workspace.uuid(),
        &codes as _,
        &messages,
        &targets as _,
        now.utc(),
    )
    .execute(connection)
    .await?;
    if done.rows_affected() < links.len() as u64 {
        return Err(Error::internal("the code of a short link is another link's"));
    }
    Ok(())
}

/// Forgets links that were made before that, so many at most; answers how many there were.
pub(crate) async fn forget(db: &PgPool, (before, limit): (Timestamp, i64)) -> Result<u64> {
    let done = sqlx::query!(
        "delete from short_link where code in (
             select code from short_link where created_at < $1
             order by created_at limit $2 for update skip locked)",
        before.utc(),
        limit,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// The message that a short link is in, and where it leads.
pub(crate) async fn find(db: &PgPool, code: &str) -> Result<Option<(Reference, String)>> {
    let row = sqlx::query!(
        "select workspace_id, message_id, target from short_link where code = $1",
        code
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| {
        let workspace = WorkspaceId::new(row.workspace_id);
        let reference = Reference { workspace, message: MessageId::new(row.message_id) };
        (reference, row.target)
    }))
}
