//! Use of rate limits and frequency caps.

use std::collections::{BTreeSet, HashSet};

use kernel::{CampaignId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{Connection as _, PgConnection};

use super::scope::ExpiredPage;

/// A request for part of a campaign's rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PaceRequest {
    pub(crate) campaign: CampaignId,
    /// The limit of the campaign, in messages a minute.
    pub(crate) per_minute: u32,
    pub(crate) now: Timestamp,
    /// Messages wanted at most.
    pub(crate) wanted: i64,
}

/// Takes up to `wanted` messages from the token bucket of a campaign's rate, and locks it until the transaction ends.
/// The bucket holds the messages of one second, at least one.
pub(crate) async fn take_pace(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    PaceRequest { campaign, per_minute, now, wanted }: PaceRequest,
) -> Result<Pace> {
    let per_second = f64::from(per_minute) / 60.0;
    let burst = per_second.max(1.0);
    sqlx::query!(
        "insert into campaign_pace (workspace_id, campaign_id, tokens, as_of)
         values ($1, $2, $3, $4)
         on conflict do nothing",
        workspace.uuid(),
        campaign.uuid(),
        burst,
        now.utc(),
    )
    .execute(&mut *connection)
    .await?;
    let row = sqlx::query!(
        "select tokens, as_of from campaign_pace
         where workspace_id = $1 and campaign_id = $2
         for update",
        workspace.uuid(),
        campaign.uuid(),
    )
    .fetch_one(&mut *connection)
    .await?;
    let as_of = Timestamp::from(row.as_of);
    #[expect(clippy::cast_precision_loss, reason = "milliseconds between two batches")]
    let elapsed = (now.millis() - as_of.millis()).max(0) as f64 / 1000.0;
    let available = (row.tokens + elapsed * per_second).min(burst);
    #[expect(clippy::cast_possible_truncation, reason = "at most a burst")]
    let taken = (available.floor() as i64).min(wanted);
    // A clock that was set back must not fill the bucket twice.
    Ok(Pace { available, taken, per_second, as_of: now.max(as_of) })
}

/// What a campaign may send now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Tokens in the bucket before.
    available: f64,
    /// Messages taken out of the bucket.
    pub(crate) taken: i64,
    per_second: f64,
    as_of: Timestamp,
}

impl Pace {
    /// When the bucket has the messages of a quarter of a second again, at least one: a fast campaign leaves in batches.
    pub(crate) fn next(&self, now: Timestamp) -> Timestamp {
        let wanted = (self.per_second / 4.0).max(1.0);
        let seconds = ((wanted - self.available).max(0.0) / self.per_second).min(3600.0);
        #[expect(clippy::cast_possible_truncation, reason = "at most an hour")]
        let ms = (seconds * 1000.0).ceil() as i64;
        Timestamp::from_millis(now.millis().saturating_add(ms.max(1)))
    }
}

/// Stores the use of a campaign's rate.
pub(crate) async fn use_pace(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    pace: Pace,
    used: usize,
) -> Result<()> {
    #[expect(clippy::cast_precision_loss, reason = "a batch")]
    let left = pace.available - used as f64;
    sqlx::query!(
        "update campaign_pace set tokens = $3, as_of = $4
         where workspace_id = $1 and campaign_id = $2",
        workspace.uuid(),
        campaign.uuid(),
        left,
        pace.as_of.utc(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A frequency cap of one recipient.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    /// The counted channel, or `any`.
    pub(crate) channel: String,
    pub(crate) max: u32,
    pub(crate) hours: u32,
}

/// Locks the counts of users on channels until the transaction ends: one lock per user and channel. Each caller that
/// counts or uncounts takes all its locks by one call, before it touches these tables. All callers lock in the same
/// order, so that no deadlock is possible.
pub(crate) async fn lock_tallies(
    connection: &mut PgConnection,
    tallies: &BTreeSet<(WorkspaceId, String, UserId)>,
) -> Result<()> {
    if tallies.is_empty() {
        return Ok(());
    }
    let workspaces: Vec<uuid::Uuid> = tallies.iter().map(|(id, _, _)| id.uuid()).collect();
    let channels: Vec<&str> = tallies.iter().map(|(_, channel, _)| channel.as_str()).collect();
    let users: Vec<&[u8]> = tallies.iter().map(|(_, _, user)| user.bytes().as_slice()).collect();
    loop {
        sqlx::query!(
            "insert into send_tally_lock (workspace_id, user_id, channel)
             select t.workspace_id, t.user_id, t.channel
             from unnest($1::uuid[], $2::bytea[], $3::text[]) as t (workspace_id, user_id, channel)
             order by t.workspace_id, t.channel, t.user_id
             on conflict do nothing",
            &workspaces,
            &users as _,
            &channels as _,
        )
        .execute(&mut *connection)
        .await?;
        let locked = sqlx::query_scalar!(
            "select l.channel
             from send_tally_lock l
             join unnest($1::uuid[], $2::bytea[], $3::text[]) as t (workspace_id, user_id, channel)
                 on l.workspace_id = t.workspace_id and l.user_id = t.user_id
                     and l.channel = t.channel
             order by l.workspace_id, l.channel, l.user_id
             for no key update of l",
            &workspaces,
            &users as _,
            &channels as _,
        )
        .fetch_all(&mut *connection)
        .await?;
        // A lock that was deleted in between, because nothing was counted under it, is created again.
        if locked.len() >= tallies.len() {
            return Ok(());
        }
    }
}

/// Counts one more message for each user below the cap; returns the users at the cap, whose counts are unchanged. The
/// caller holds their locks ([`lock_tallies`]). Counts are kept by the whole hour, so that the window is never shorter
/// than the setting.
pub(crate) async fn count_sends(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
    cap: &Counted,
    now: Timestamp,
) -> Result<HashSet<UserId>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    sqlx::query!(
        "insert into send_tally (workspace_id, user_id, channel, hour, sends)
         select $1, u.id, $3, date_trunc('hour', $4::timestamptz), 1
         from unnest($2::bytea[]) as u (id)
         order by u.id
         on conflict (workspace_id, user_id, channel, hour)
             do update set sends = send_tally.sends + 1",
        workspace.uuid(),
        &ids as _,
        cap.channel,
        now.utc(),
    )
    .execute(&mut *connection)
    .await?;
    let full = sqlx::query_scalar!(
        r#"with full_up as (
               select user_id
               from send_tally
               where workspace_id = $1 and user_id = any($2) and channel = $3
                   and hour + interval '1 hour' > $4::timestamptz - make_interval(hours => $5)
               group by user_id
               having sum(sends) > $6),
           taken_back as (
               update send_tally t set sends = t.sends - 1
               from full_up f
               where t.workspace_id = $1 and t.user_id = f.user_id and t.channel = $3
                   and t.hour = date_trunc('hour', $4::timestamptz))
           select user_id as "user_id!" from full_up"#,
        workspace.uuid(),
        &ids as _,
        cap.channel,
        now.utc(),
        i32::try_from(cap.hours).unwrap_or(i32::MAX),
        i64::from(cap.max),
    )
    .fetch_all(connection)
    .await?;
    full.iter().map(|id| super::runs::user_id(id)).collect()
}

/// Which of these users have reached the cap.
pub(crate) async fn capped(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
    cap: &Counted,
    at: Timestamp,
) -> Result<HashSet<UserId>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let full = sqlx::query_scalar!(
        "select user_id
         from send_tally
         where workspace_id = $1 and user_id = any($2) and channel = $3
             and hour + interval '1 hour' > $4::timestamptz - make_interval(hours => $5)
         group by user_id
         having sum(sends) >= $6",
        workspace.uuid(),
        &ids as _,
        cap.channel,
        at.utc(),
        i32::try_from(cap.hours).unwrap_or(i32::MAX),
        i64::from(cap.max),
    )
    .fetch_all(connection)
    .await?;
    full.iter().map(|id| super::runs::user_id(id)).collect()
}

/// Takes back the last counted message of users to whom none was sent; what was counted for a merged profile is its
/// survivor's now.
pub(crate) async fn uncount_sends(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
    channel: &str,
) -> Result<()> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    sqlx::query!(
        "update send_tally t set sends = greatest(0, t.sends - u.count)
         from (
             select survivor_of($1, id) as id, count(distinct id)::integer as count
             from unnest($2::bytea[]) as u (id)
             group by 1
             order by 1) u
         cross join lateral (
             select hour from send_tally
             where workspace_id = $1 and user_id = u.id and channel = $3 and sends > 0
             order by hour desc
             limit 1
             for update) last
         where t.workspace_id = $1 and t.user_id = u.id and t.channel = $3 and t.hour = last.hour",
        workspace.uuid(),
        &ids as _,
        channel,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes a page of counts that no cap covers any more, and the locks of users without counts. Returns how many
/// counts were deleted.
pub(crate) async fn delete_sends(
    connection: &mut PgConnection,
    ExpiredPage { before, limit }: ExpiredPage,
) -> Result<u64> {
    let mut tx = connection.begin().await?;
    let old = sqlx::query!(
        "delete from send_tally t
         using (
             select workspace_id, user_id, channel, hour from send_tally
             where hour < $1
             order by hour
             limit $2
             for update skip locked) old
         where t.workspace_id = old.workspace_id and t.user_id = old.user_id
             and t.channel = old.channel and t.hour = old.hour
         returning t.workspace_id, t.user_id, t.channel",
        before.utc(),
        limit,
    )
    .fetch_all(&mut *tx)
    .await?;
    let workspaces: Vec<uuid::Uuid> = old.iter().map(|row| row.workspace_id).collect();
    let users: Vec<&[u8]> = old.iter().map(|row| row.user_id.as_slice()).collect();
    let channels: Vec<&str> = old.iter().map(|row| row.channel.as_str()).collect();
    sqlx::query!(
        "delete from send_tally_lock l
         using (
             select k.workspace_id, k.user_id, k.channel
             from send_tally_lock k
             join (select distinct * from unnest($1::uuid[], $2::bytea[], $3::text[]))
                 as t (workspace_id, user_id, channel)
                 on k.workspace_id = t.workspace_id and k.user_id = t.user_id
                     and k.channel = t.channel
             where not exists (
                 select from send_tally s
                 where s.workspace_id = k.workspace_id and s.user_id = k.user_id
                     and s.channel = k.channel)
             for update of k skip locked) gone
         where l.workspace_id = gone.workspace_id and l.user_id = gone.user_id
             and l.channel = gone.channel",
        &workspaces,
        &users as _,
        &channels as _,
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(old.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_waits_for_the_messages_of_a_quarter_of_a_second_or_for_one() {
        // A minute's messages, those in the bucket, and milliseconds until the next batch.
        let table = [
            (60, 0.0, 1_000),
            (60, 0.75, 250),
            (30, 0.5, 1_000),
            (1, 0.0, 60_000),
            (600, 0.0, 250),
            (600, 0.5, 200),
            (60_000, 0.0, 250),
            (60_000, 0.9, 250),
            (600, 2.5, 1),
        ];
        let now = Timestamp::from_millis(1_000_000);
        for (per_minute, available, ms) in table {
            let per_second = f64::from(per_minute) / 60.0;
            let pace = Pace { available, taken: 0, per_second, as_of: now };
            assert_eq!(pace.next(now).millis() - now.millis(), ms, "{per_minute} {available}");
        }
    }
}
