//! Short links and their targets.

use kernel::{Error, MessageId, Result, Timestamp, WorkspaceId};
use providers::model::Reference;
use sqlx::{PgConnection, PgPool};

use super::scope::ExpiredPage;
use crate::render::ShortLink;

/// A short link in a message.
#[derive(Debug)]
pub struct MessageLink {
    pub message: MessageId,
    pub link: ShortLink,
}

/// Stores the short links of messages before these are sent. Existing links are left as they are.
///
/// # Errors
/// When the store fails, or another link has the same code: then this link would lead to the wrong target.
pub async fn save(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    links: &[MessageLink],
    now: Timestamp,
) -> Result<()> {
    if links.is_empty() {
        return Ok(());
    }
    let codes: Vec<&str> = links.iter().map(|it| it.link.code.as_str()).collect();
    let messages: Vec<uuid::Uuid> = links.iter().map(|it| it.message.uuid()).collect();
    let targets: Vec<&str> = links.iter().map(|it| it.link.target.as_str()).collect();
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

/// Deletes a page of old links; returns how many.
pub(crate) async fn delete(db: &PgPool, ExpiredPage { before, limit }: ExpiredPage) -> Result<u64> {
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

/// The message of a short link, and the link's target.
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
