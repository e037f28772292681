//! Entries into triggered campaigns, and the profiles that enter.

use std::collections::{HashMap, HashSet};

use audience::model::Person;
use kernel::{CampaignId, Result, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::model::{Entry, KnownProfiles, LastEntry, LiveTrigger, PreviousEntries};

/// The active profiles with any of these ids.
pub(super) async fn profiles(
    db: &PgPool,
    workspace: WorkspaceId,
    external_ids: &[String],
    ids: &[Vec<u8>],
) -> Result<KnownProfiles> {
    let rows = sqlx::query!(
        "select id, external_id
         from users
         where workspace_id = $1 and deleted_at is null and (external_id = any($2) or id = any($3))",
        workspace.uuid(),
        external_ids,
        ids,
    )
    .fetch_all(db)
    .await?;
    let mut known = KnownProfiles::default();
    for row in rows {
        known.add(Person { user: user_id(&row.id)?, external_id: row.external_id });
    }
    Ok(known)
}

fn user_id(bytes: &[u8]) -> Result<UserId> {
    Ok(UserId::from_bytes(bytes.try_into().map_err(anyhow::Error::from)?))
}

/// Takes the lock for entries into the campaign, until the transaction ends.
pub(super) async fn lock(tx: &mut PgConnection, campaign: CampaignId) -> Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('campaign_entry:' || $1::text, 0))",
        campaign.uuid().to_string(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// The events that caused an entry already, and the last entries of these profiles, those of merged ones among them.
pub(super) async fn entries(
    tx: &mut PgConnection,
    trigger: &LiveTrigger,
    events: &[String],
    users: &[Vec<u8>],
) -> Result<PreviousEntries> {
    let LiveTrigger { workspace, id: campaign, .. } = trigger;
    let known = sqlx::query_scalar!(
        "select event_id
         from campaign_entry
         where workspace_id = $1 and campaign_id = $2 and event_id = any($3)",
        workspace.uuid(),
        campaign.uuid(),
        events,
    )
    .fetch_all(&mut *tx)
    .await?;
    let rows = sqlx::query!(
        r#"select p.survivor as "user_id!", max(e.entry) as "entry!", max(e.entered_at) as "at!"
         from (
             select id, id as survivor from unnest($3::bytea[]) as id
             union all
             select id, merged_into from users where workspace_id = $1 and merged_into = any($3)
         ) p
         join campaign_entry e
             on e.workspace_id = $1 and e.campaign_id = $2 and e.user_id = p.id
         group by p.survivor"#,
        workspace.uuid(),
        campaign.uuid(),
        users,
    )
    .fetch_all(tx)
    .await?;
    let mut last = HashMap::with_capacity(rows.len());
    for row in rows {
        last.insert(user_id(&row.user_id)?, LastEntry { entry: row.entry, at: row.at.into() });
    }
    Ok(PreviousEntries { events: HashSet::from_iter(known), last })
}

pub(super) async fn insert(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    entries: &[Entry<'_>],
    published: bool,
) -> Result<()> {
    let events: Vec<&str> = entries.iter().map(|entry| entry.event.id.as_str()).collect();
    let users: Vec<&[u8]> = entries.iter().map(|entry| entry.user.bytes().as_slice()).collect();
    let numbers: Vec<i32> = entries.iter().map(|entry| entry.number).collect();
    let times: Vec<_> = entries.iter().map(|entry| entry.event.received.utc()).collect();
    sqlx::query!(
        "insert into campaign_entry
             (workspace_id, campaign_id, event_id, user_id, entry, entered_at, told)
         select $1, $2, entry.event_id, entry.user_id, entry.number, entry.entered_at, $7
         from unnest($3::text[], $4::bytea[], $5::integer[], $6::timestamptz[])
             as entry (event_id, user_id, number, entered_at)",
        workspace.uuid(),
        campaign.uuid(),
        &events as _,
        &users as _,
        &numbers,
        &times,
        published,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// An entry whose `queued` event was not published yet.
#[derive(Debug)]
pub(super) struct Unpublished {
    pub(super) workspace: WorkspaceId,
    pub(super) campaign: CampaignId,
    pub(super) user: UserId,
    pub(super) number: i32,
    pub(super) channel: String,
    event_id: String,
}

/// So many of them, of every workspace, the oldest first.
pub(super) async fn unpublished(db: &PgPool, limit: i64) -> Result<Vec<Unpublished>> {
    let rows = sqlx::query!(
        "select e.workspace_id, e.campaign_id, e.event_id, e.user_id, e.entry, m.channel
         from campaign_entry e
         join message m on m.workspace_id = e.workspace_id and m.campaign_id = e.campaign_id
             and m.user_id = e.user_id and m.occurrence = e.entry and m.purpose = 'campaign'
         where not e.told
         order by e.entered_at
         limit $1",
        limit,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Unpublished {
                workspace: WorkspaceId::new(row.workspace_id),
                campaign: CampaignId::new(row.campaign_id),
                user: user_id(&row.user_id)?,
                number: row.entry,
                channel: row.channel,
                event_id: row.event_id,
            })
        })
        .collect()
}

/// Marks the `queued` events of these entries as published. The column is named `told`.
pub(super) async fn mark_published(
    db: &PgPool,
    workspace: WorkspaceId,
    entries: &[&Unpublished],
) -> Result<()> {
    let campaigns: Vec<Uuid> = entries.iter().map(|entry| entry.campaign.uuid()).collect();
    let events: Vec<&str> = entries.iter().map(|entry| entry.event_id.as_str()).collect();
    sqlx::query!(
        "update campaign_entry e set told = true
         from unnest($2::uuid[], $3::text[]) as told (campaign_id, event_id)
         where e.workspace_id = $1 and e.campaign_id = told.campaign_id
             and e.event_id = told.event_id",
        workspace.uuid(),
        &campaigns,
        &events as _,
    )
    .execute(db)
    .await?;
    Ok(())
}
