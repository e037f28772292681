//! Reads the history of a contact.

use kernel::{ListId, Result, Tenant, UserId};
use sqlx::PgPool;

use super::channels::channel;
use crate::consent::model::HistoryEntry;
use kernel::page::PageWindow;

/// A page of a contact's history, newest first, and its total length.
pub(in crate::consent) async fn list(
    db: &PgPool,
    tenant: Tenant,
    user: UserId,
    page: PageWindow,
) -> Result<(Vec<HistoryEntry>, u64)> {
    let rows = sqlx::query!(
        "select id, channel, list_id, action, previous_status, new_status, source, actor, ip_address,
                user_agent, consent_text, metadata, created_at
         from subscription_history
         where workspace_id = $1 and user_id = $2
         order by seq desc
         limit $3 offset $4",
        tenant.workspace.uuid(),
        &user.bytes()[..],
        page.limit(),
        page.offset(),
    )
    .fetch_all(db)
    .await?;
    let total = sqlx::query_scalar!(
        "select count(*) as \"total!\" from subscription_history
         where workspace_id = $1 and user_id = $2",
        tenant.workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_one(db)
    .await?;
    let entries = rows.into_iter().map(|row| {
        Ok(HistoryEntry {
            id: row.id,
            organization_id: tenant.organization,
            workspace_id: tenant.workspace,
            contact_id: user,
            channel: channel(&row.channel)?,
            list_id: row.list_id.map(ListId::new),
            action: row.action,
            previous_status: row.previous_status,
            new_status: row.new_status,
            source: row.source,
            ip_address: row.ip_address,
            user_agent: row.user_agent,
            actor: row.actor,
            consent_text: row.consent_text,
            metadata: row.metadata,
            created_at: row.created_at.into(),
        })
    });
    Ok((entries.collect::<Result<_>>()?, total.unsigned_abs()))
}
