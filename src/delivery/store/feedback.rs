//! Messages that feedback refers to, and the feedback that was applied before.

use std::collections::HashMap;

use kernel::{
    CampaignId, MessageId, OrganizationId, Result, Tenant, Timestamp, UserId, WorkspaceId,
};
use providers::model::Reference;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

/// The message that feedback refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) tenant: Tenant,
    pub(crate) message: MessageId,
    /// The campaign; none for a transactional message.
    pub(crate) campaign: Option<CampaignId>,
    /// The run of the campaign.
    pub(crate) occurrence: i32,
    /// Its recipient; none if a test was sent to a bare address.
    pub(crate) user: Option<UserId>,
    pub(crate) channel: String,
    pub(crate) variant: Option<String>,
    /// Whether it is a test, which no report counts.
    pub(crate) is_test: bool,
}

/// The messages among these references.
pub(crate) async fn find(
    db: &PgPool,
    references: &[Reference],
) -> Result<HashMap<Reference, Subject>> {
    let workspaces: Vec<Uuid> = references.iter().map(|r| r.workspace.uuid()).collect();
    let messages: Vec<Uuid> = references.iter().map(|r| r.message.uuid()).collect();
    let rows = sqlx::query!(
        "select m.workspace_id, m.id, w.organization_id, m.campaign_id, m.occurrence, m.user_id,
                m.channel, m.variant_id, m.purpose = 'test' as \"is_test!\"
         from (select distinct * from unnest($1::uuid[], $2::uuid[])) as k (workspace_id, id)
         join message m on m.workspace_id = k.workspace_id and m.id = k.id
         join workspace w on w.id = m.workspace_id",
        &workspaces,
        &messages,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let workspace = WorkspaceId::new(row.workspace_id);
            let message = MessageId::new(row.id);
            let organization = OrganizationId::new(row.organization_id);
            let user = row.user_id.map(|id| user_id(&id)).transpose()?;
            let subject = Subject {
                tenant: Tenant { organization, workspace },
                message,
                campaign: row.campaign_id.map(CampaignId::new),
                occurrence: row.occurrence,
                user,
                channel: row.channel,
                variant: row.variant_id,
                is_test: row.is_test,
            };
            Ok((Reference { workspace, message }, subject))
        })
        .collect()
}

/// The messages of a channel to which a provider gave these ids.
pub(crate) async fn named_by_provider(
    db: &PgPool,
    channel: &str,
    ids: &[&str],
) -> Result<HashMap<String, Reference>> {
    let rows = sqlx::query!(
        "select provider_id as \"provider_id!\", workspace_id, id
         from message
         where provider_id = any($1) and channel = $2",
        ids as _,
        channel,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let workspace = WorkspaceId::new(row.workspace_id);
            (row.provider_id, Reference { workspace, message: MessageId::new(row.id) })
        })
        .collect())
}

/// Records that feedback is applied, in the transaction that applies it; false if it was applied before.
pub(crate) async fn is_new(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    key: &str,
    now: Timestamp,
) -> Result<bool> {
    let done = sqlx::query!(
        "insert into feedback_heard (workspace_id, key, heard_at) values ($1, $2, $3)
         on conflict do nothing",
        workspace.uuid(),
        key,
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes up to `limit` records of feedback that was applied before a time; returns how many.
pub(crate) async fn delete(db: &PgPool, before: Timestamp, limit: u32) -> Result<u64> {
    let done = sqlx::query!(
        "delete from feedback_heard h
         using (select workspace_id, key from feedback_heard where heard_at < $1
                order by heard_at limit $2 for update skip locked) as old
         where h.workspace_id = old.workspace_id and h.key = old.key",
        before.utc(),
        i64::from(limit),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

fn user_id(bytes: &[u8]) -> Result<UserId> {
    let bytes: [u8; 12] = bytes.try_into().map_err(anyhow::Error::from)?;
    Ok(UserId::from_bytes(bytes))
}
