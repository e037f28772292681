//! Messages of profiles that are one person: merged ones, and the survivor of each.

use std::collections::HashMap;

use kernel::{CampaignId, Error, MessageId, Result, UserId, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::runs::user_id;
use crate::model::merged::SentState;

/// The profiles of which one is merged into the other, by any of these users.
#[derive(Debug, Default)]
pub(crate) struct MergedProfiles {
    /// The survivor of each merged profile.
    pub(crate) survivors: HashMap<UserId, UserId>,
}

/// The merged profiles among these users and those that were merged into them. Usually there are none.
pub(crate) async fn of_users(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<MergedProfiles> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query!(
        r#"select id as "id!", merged_into as "survivor!"
           from users
           where workspace_id = $1 and id = any($2) and merged_into is not null
           union
           select f.id, f.merged_into
           from users u
           join users f on f.workspace_id = $1 and f.merged_into = coalesce(u.merged_into, u.id)
           where u.workspace_id = $1 and u.id = any($2)"#,
        workspace.uuid(),
        &ids as _,
    )
    .fetch_all(connection)
    .await?;
    let mut found = MergedProfiles::default();
    for row in rows {
        found.survivors.insert(user_id(&row.id)?, user_id(&row.survivor)?);
    }
    Ok(found)
}

/// Locks profiles until the transaction ends, in the order of their ids: claims of one person wait for each other and
/// for merges.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<()> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    sqlx::query!(
        "select from users where workspace_id = $1 and id = any($2) order by id for no key update",
        workspace.uuid(),
        &ids as _,
    )
    .fetch_all(connection)
    .await?;
    Ok(())
}

/// A message of a campaign to one of several profiles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SiblingMessage {
    pub(crate) id: MessageId,
    pub(crate) user: UserId,
    pub(crate) occurrence: i32,
    pub(crate) state: SentState,
}

/// The messages of a campaign to these profiles.
pub(crate) async fn messages(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    users: &[UserId],
) -> Result<Vec<SiblingMessage>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query!(
        r#"select id, user_id as "user_id!", occurrence, status
           from message
           where workspace_id = $1 and campaign_id = $2 and user_id = any($3) and purpose = 'campaign'"#,
        workspace.uuid(),
        campaign.uuid(),
        &ids as _,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let state = SentState::of_status(&row.status)
                .ok_or_else(|| Error::internal("a message of no known status"))?;
            let (id, user) = (MessageId::new(row.id), user_id(&row.user_id)?);
            Ok(SiblingMessage { id, user, occurrence: row.occurrence, state })
        })
        .collect()
}

/// A message of a merged profile that is sent to its survivor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Redirected {
    pub(crate) message: MessageId,
    pub(crate) survivor: UserId,
}

/// Gives claimed messages to survivors, so that reports of providers are about their addresses. Not where the survivor has
/// a message of that occurrence, which was settled.
pub(crate) async fn redirect(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    redirected: &[Redirected],
) -> Result<()> {
    if redirected.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = redirected.iter().map(|it| it.message.uuid()).collect();
    let users: Vec<&[u8]> = redirected.iter().map(|it| it.survivor.bytes().as_slice()).collect();
    sqlx::query!(
        "update message m
         set user_id = r.user_id
         from unnest($2::uuid[], $3::bytea[]) as r (id, user_id)
         where m.workspace_id = $1 and m.id = r.id and (m.purpose <> 'campaign' or not exists (
             select from message o
             where o.workspace_id = $1 and o.campaign_id = m.campaign_id and o.user_id = r.user_id
                 and o.occurrence = m.occurrence and o.purpose = 'campaign'))",
        workspace.uuid(),
        &ids,
        &users as _,
    )
    .execute(connection)
    .await?;
    Ok(())
}
