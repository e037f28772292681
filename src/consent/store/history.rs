//! The history of a contact, read.

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use uuid::Uuid;

use crate::kernel::{Result, UserId, WorkspaceId};

/// One entry as it is stored.
#[derive(Debug)]
pub(in crate::consent) struct StoredEntry {
    pub(in crate::consent) id: Uuid,
    pub(in crate::consent) channel: String,
    pub(in crate::consent) list_id: Option<Uuid>,
    pub(in crate::consent) action: String,
    pub(in crate::consent) previous_status: Option<String>,
    pub(in crate::consent) new_status: Option<String>,
    pub(in crate::consent) source: String,
    pub(in crate::consent) actor: String,
    pub(in crate::consent) ip_address: Option<String>,
    pub(in crate::consent) user_agent: Option<String>,
    pub(in crate::consent) consent_text: Option<String>,
    pub(in crate::consent) metadata: serde_json::Value,
    pub(in crate::consent) created_at: DateTime<Utc>,
}

/// A page of a contact's history, newest first, and how long it is in all.
pub(in crate::consent) async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    user: UserId,
    (limit, offset): (u32, u64),
) -> Result<(Vec<StoredEntry>, u64)> {
    let entries = sqlx::query_as!(
        StoredEntry,
        "select id, channel, list_id, action, previous_status, new_status, source, actor, ip_address,
                user_agent, consent_text, metadata, created_at
         from subscription_history
         where workspace_id = $1 and user_id = $2
         order by seq desc
         limit $3 offset $4",
        workspace.uuid(),
        &user.bytes()[..],
        i64::from(limit),
        i64::try_from(offset).unwrap_or(i64::MAX),
    )
    .fetch_all(db)
    .await?;
    let total = sqlx::query_scalar!(
        "select count(*) as \"total!\" from subscription_history
         where workspace_id = $1 and user_id = $2",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_one(db)
    .await?;
    Ok((entries, total.unsigned_abs()))
}
