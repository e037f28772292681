//! What campaigns and recipients have used up of their limits: rates, frequency caps, volumes.

use std::collections::{BTreeSet, HashSet};

use kernel::{CampaignId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{Connection as _, PgConnection};

/// Takes as much of a campaign's rate as there is, up to `wanted` messages, and holds on to it until the
/// transaction ends. A bucket holds what may leave in a second, and one message at least.
pub(crate) async fn take_pace(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    (campaign, per_minute): (CampaignId, u32),
    (now, wanted): (Timestamp, i64),
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
    #[expect(clippy::cast_precision_loss, reason = "milliseconds between two looks")]
    let elapsed = (now.millis() - as_of.millis()).max(0) as f64 / 1000.0;
    let there = (row.tokens + elapsed * per_second).min(burst);
    #[expect(clippy::cast_possible_truncation, reason = "at most a burst")]
    let taken = (there.floor() as i64).min(wanted);
    // Of a clock that was set back nothing is made up twice.
    Ok(Pace { there, taken, per_second, as_of: now.max(as_of) })
}

/// What a campaign may send now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// What was in the bucket.
    there: f64,
    /// Messages taken out of it.
    pub(crate) taken: i64,
    per_second: f64,
    as_of: Timestamp,
}

impl Pace {
    /// When there is a message's worth in the bucket again.
    pub(crate) fn next(&self, now: Timestamp) -> Timestamp {
        let seconds = ((1.0 - self.there).max(0.0) / self.per_second).min(3600.0);
        #[expect(clippy::cast_possible_truncation, reason = "at most an hour")]
        let ms = (seconds * 1000.0).ceil() as i64;
        Timestamp::from_millis(now.millis().saturating_add(ms.max(1)))
    }
}

/// Writes down what was used of the rate.
pub(crate) async fn use_pace(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: CampaignId,
    (pace, used): (Pace, usize),
) -> Result<()> {
    #[expect(clippy::cast_precision_loss, reason = "a batch")]
    let left = pace.there - used as f64;
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

/// A cap on what one recipient gets.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    /// The channel it counts, or `any`.
    pub(crate) channel: String,
    pub(crate) max: u32,
    /// In so many hours.
    pub(crate) hours: u32,
}

/// Locks what was counted for people on channels until the transaction ends: one lock for each person and
/// channel, whatever the hour. Whoever counts or uncounts takes all locks it needs by one call of this, before
/// anything else of these tables: they are taken in one order, so that two senders never wait for each other in a
/// circle.
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
        // One that was deleted in between, since nothing was counted by it any more, is made again.
        if locked.len() >= tallies.len() {
            return Ok(());
        }
    }
}

/// Counts a message more for each of these people, and answers who had their fill before: for them
/// nothing is counted. The caller holds their locks ([`lock_tallies`]). Hours are counted whole: the window is
/// never shorter than it should be.
pub(crate) async fn count_sends(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    (users, cap): (&[UserId], &Counted),
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

/// Who of these people has had their fill, a message more being one too many.
pub(crate) async fn full_up(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    (users, cap): (&[UserId], &Counted),
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

/// Takes back what was last counted for people who get nothing after all.
pub(crate) async fn uncount_sends(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    (users, channel): (&[UserId], &str),
) -> Result<()> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    sqlx::query!(
        "update send_tally t set sends = t.sends - 1
         from (select id from unnest($2::bytea[]) as u (id) order by id) u
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

/// Forgets what is too long ago for any cap, and the locks of people of whom nothing is left; so many at most.
/// Answers how much it was.
pub(crate) async fn forget_sends(
    connection: &mut PgConnection,
    (before, limit): (Timestamp, i64),
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
