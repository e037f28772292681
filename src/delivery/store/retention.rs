//! Deletes expired rows, page by page.

use kernel::{Result, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use super::scope::ExpiredPage;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Messages,
    /// Entries of triggered campaigns.
    CampaignEntries,
    CampaignHistory,
    RejectedEvents,
}

impl Task {
    pub(crate) const ALL: [Self; 4] =
        [Self::Messages, Self::CampaignEntries, Self::CampaignHistory, Self::RejectedEvents];

    /// The name in the table and in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::CampaignEntries => "campaign_entries",
            Self::CampaignHistory => "campaign_history",
            Self::RejectedEvents => "rejected_events",
        }
    }
}

/// Locks a task until the transaction ends; false if another process has it, or if it was completed after `not_after`.
pub(crate) async fn take(
    connection: &mut PgConnection,
    task: Task,
    not_after: Timestamp,
) -> Result<bool> {
    let taken = sqlx::query_scalar!(
        "select name from retention_task
         where name = $1 and (ended_at is null or ended_at <= $2)
         for update skip locked",
        task.name(),
        not_after.utc(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(taken.is_some())
}

/// Records that a task is complete; the next time it starts from the beginning.
pub(crate) async fn end(connection: &mut PgConnection, task: Task, now: Timestamp) -> Result<()> {
    sqlx::query!(
        "update retention_task
         set ended_at = $2, workspace_id = null, campaign_id = null, user_id = null, entry = null
         where name = $1",
        task.name(),
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes a page of old settled messages; returns how many. The facts that rules still need are stored elsewhere: the
/// recipients of a campaign, and how many messages it sent. Messages of an unfinished run are not deleted.
pub(crate) async fn delete_messages(
    connection: &mut PgConnection,
    ExpiredPage { before, limit }: ExpiredPage,
) -> Result<u64> {
    let deleted = sqlx::query_scalar!(
        r#"with old as (
               select m.workspace_id, m.id
               from message m
               where m.created_at < $1 and m.due_at is null and coalesce(m.sent_at, m.created_at) < $1
                   and not exists (
                       select from campaign_run r
                       where r.workspace_id = m.workspace_id and r.campaign_id = m.campaign_id
                           and r.occurrence = m.occurrence and r.completed_at is null)
               limit $2
               for update of m skip locked),
           gone as (
               delete from message m using old
               where m.workspace_id = old.workspace_id and m.id = old.id
               returning m.workspace_id, m.campaign_id, m.user_id, m.purpose, m.status,
                   coalesce(m.sent_at, m.created_at) as sent_at),
           sent as (
               select g.workspace_id, g.campaign_id, g.user_id, g.sent_at,
                   c.definition->>'sendType' = 'triggered' as is_triggered
               from gone g
               join campaign c on c.workspace_id = g.workspace_id and c.id = g.campaign_id
               where g.purpose = 'campaign' and g.status in ('sent', 'unknown')),
           received as (
               insert into campaign_received as r (workspace_id, campaign_id, user_id, last_sent_at)
               select workspace_id, campaign_id, user_id, max(sent_at)
               from sent
               where not coalesce(is_triggered, false) and user_id is not null
               group by workspace_id, campaign_id, user_id
               on conflict (workspace_id, campaign_id, user_id) do update
                   set last_sent_at = greatest(r.last_sent_at, excluded.last_sent_at)),
           counted as (
               insert into campaign_deleted_sends as d (workspace_id, campaign_id, sends)
               select workspace_id, campaign_id, count(*)
               from sent
               group by workspace_id, campaign_id
               on conflict (workspace_id, campaign_id) do update set sends = d.sends + excluded.sends)
           select count(*) as "deleted!" from gone"#,
        before.utc(),
        limit,
    )
    .fetch_one(connection)
    .await?;
    Ok(deleted.unsigned_abs())
}

/// The result of a page of entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) deleted: u64,
    /// Whether entries remain to be read.
    pub(crate) has_more: bool,
}

/// Reads the next page of entries into triggered campaigns, and deletes old entries that the same profile followed with
/// another one. The last entry of each profile stays, because it decides whether the profile may enter again. All
/// entries of campaigns cancelled before that time are deleted.
pub(crate) async fn delete_entries(
    connection: &mut PgConnection,
    ExpiredPage { before, limit }: ExpiredPage,
) -> Result<Page> {
    // Read first: with the position as a constant, PostgreSQL starts the page there in the primary key.
    let reached = sqlx::query!(
        "select workspace_id, campaign_id, user_id, entry
         from retention_task
         where name = 'campaign_entries'",
    )
    .fetch_one(&mut *connection)
    .await?;
    let rows = sqlx::query!(
        r#"select workspace_id, campaign_id, user_id, entry, entered_at < $1 as "is_old!"
           from campaign_entry
           where (workspace_id, campaign_id, user_id, entry) >= ($3, $4, $5, $6)
           order by workspace_id, campaign_id, user_id, entry
           limit $2"#,
        before.utc(),
        limit,
        reached.workspace_id.unwrap_or_default(),
        reached.campaign_id.unwrap_or_default(),
        reached.user_id.unwrap_or_default(),
        reached.entry.unwrap_or(i32::MIN),
    )
    .fetch_all(&mut *connection)
    .await?;
    let entries: Vec<Listed> = rows
        .into_iter()
        .map(|row| Listed {
            workspace: row.workspace_id,
            campaign: row.campaign_id,
            user: row.user_id,
            entry: row.entry,
            is_old: row.is_old,
        })
        .collect();
    let over = cancelled(connection, &entries, before).await?;
    let gone = entries.iter().enumerate().filter(|(at, entry)| {
        let is_followed = entries.get(at + 1).is_some_and(|next| next.is_of_same(entry));
        entry.is_old && (is_followed || over.contains(&entry.campaign))
    });
    let gone: Vec<&Listed> = gone.map(|(_, entry)| entry).collect();
    let deleted = delete_listed(connection, &gone).await?;
    // The last entry of a page is the first of the next, because only then its successor is known.
    let last = entries.last().filter(|_| entries.len() as u64 >= limit.unsigned_abs());
    if let Some(last) = last {
        sqlx::query!(
            "update retention_task
             set workspace_id = $1, campaign_id = $2, user_id = $3, entry = $4
             where name = 'campaign_entries'",
            last.workspace,
            last.campaign,
            last.user,
            last.entry,
        )
        .execute(connection)
        .await?;
    }
    Ok(Page { deleted, has_more: last.is_some() })
}

/// An entry of a page.
struct Listed {
    workspace: Uuid,
    campaign: Uuid,
    user: Vec<u8>,
    entry: i32,
    is_old: bool,
}

impl Listed {
    /// Whether both are entries of one profile into one campaign.
    fn is_of_same(&self, other: &Self) -> bool {
        self.workspace == other.workspace
            && self.campaign == other.campaign
            && self.user == other.user
    }
}

/// The campaigns of these entries that were cancelled before a time.
async fn cancelled(
    connection: &mut PgConnection,
    entries: &[Listed],
    before: Timestamp,
) -> Result<Vec<Uuid>> {
    let mut campaigns: Vec<(Uuid, Uuid)> =
        entries.iter().map(|entry| (entry.workspace, entry.campaign)).collect();
    campaigns.dedup();
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) = campaigns.into_iter().unzip();
    let found = sqlx::query_scalar!(
        "select c.id from unnest($1::uuid[], $2::uuid[]) as k (workspace_id, id)
         join campaign c on c.workspace_id = k.workspace_id and c.id = k.id
         where c.status = 'cancelled' and c.cancelled_at < $3",
        &workspaces,
        &ids,
        before.utc(),
    )
    .fetch_all(connection)
    .await?;
    Ok(found)
}

/// Deletes entries whose `queued` event is published; returns how many.
async fn delete_listed(connection: &mut PgConnection, entries: &[&Listed]) -> Result<u64> {
    let workspaces: Vec<Uuid> = entries.iter().map(|entry| entry.workspace).collect();
    let campaigns: Vec<Uuid> = entries.iter().map(|entry| entry.campaign).collect();
    let users: Vec<&[u8]> = entries.iter().map(|entry| entry.user.as_slice()).collect();
    let numbers: Vec<i32> = entries.iter().map(|entry| entry.entry).collect();
    let done = sqlx::query!(
        "delete from campaign_entry e
         using unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::integer[])
             as k (workspace_id, campaign_id, user_id, entry)
         where e.workspace_id = k.workspace_id and e.campaign_id = k.campaign_id
             and e.user_id = k.user_id and e.entry = k.entry and e.told",
        &workspaces,
        &campaigns,
        &users as _,
        &numbers,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes a page of old lines from histories of campaigns; returns how many.
pub(crate) async fn delete_history(
    connection: &mut PgConnection,
    ExpiredPage { before, limit }: ExpiredPage,
) -> Result<u64> {
    let done = sqlx::query!(
        "delete from campaign_history h
         using (
             select workspace_id, campaign_id, seq from campaign_history
             where created_at < $1
             limit $2
             for update skip locked) old
         where h.workspace_id = old.workspace_id and h.campaign_id = old.campaign_id
             and h.seq = old.seq",
        before.utc(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
