//! The SQL that appends to the history.

use kernel::{ListId, Result, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Entry, Write};

/// Appends entries in their order. The times of a contact's entries never decrease, although servers' clocks
/// differ and a write may have waited for another that began later.
pub(super) async fn insert(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    write: &Write<'_>,
    entries: &[Entry],
) -> Result<()> {
    let users: Vec<&[u8]> = entries.iter().map(|entry| &entry.user.bytes()[..]).collect();
    let channels: Vec<&str> = entries.iter().map(|entry| entry.channel.as_str()).collect();
    let lists: Vec<Option<Uuid>> = entries.iter().map(|e| e.list.map(ListId::uuid)).collect();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    let previous: Vec<Option<&str>> =
        entries.iter().map(|entry| entry.previous.as_deref()).collect();
    let new: Vec<Option<&str>> = entries.iter().map(|entry| entry.new.as_deref()).collect();
    sqlx::query!(
        "insert into subscription_history
             (workspace_id, id, user_id, channel, list_id, action, previous_status, new_status,
              source, actor, ip_address, user_agent, consent_text, metadata, created_at)
         select $1, gen_random_uuid(), e.user_id, e.channel, e.list_id, e.action, e.previous_status, e.new_status,
             $8, $9, $10, $11, $12, jsonb_strip_nulls(jsonb_build_object('reason', $13::text)),
             greatest($14, (
                 select h.created_at from subscription_history h
                 where h.workspace_id = $1 and h.user_id = e.user_id
                 order by h.seq desc
                 limit 1))
         from unnest($2::bytea[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[])
             with ordinality
             as e (user_id, channel, list_id, action, previous_status, new_status, position)
         order by e.position",
        workspace.uuid(),
        &users as _,
        &channels as _,
        &lists as _,
        &actions as _,
        &previous as _,
        &new as _,
        write.origin.source,
        write.origin.actor,
        write.origin.requester.ip.map(|ip| ip.to_string()),
        write.origin.requester.user_agent,
        write.consent_text,
        write.reason,
        write.now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
