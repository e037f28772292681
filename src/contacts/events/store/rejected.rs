//! Refused events in PostgreSQL.

use std::{collections::HashSet, sync::Arc};

use chrono::{DateTime, Utc};
use ingest::rejected::{KeptRejection, RejectedBatch};
use kernel::{Result, Timestamp, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::events::model::rejected::{RefusedEvent, RefusedEvents, WantedRefusals};

/// Refused events of one workspace that are listed of its servers: the newest.
const LISTED_OF_SERVERS_MAX: i64 = 10_000;
/// Likewise of those with public keys. Anyone can send with such a key, so that they take no room from servers.
const LISTED_OF_PUBLIC_MAX: i64 = 1_000;

/// Waits until no other process stores refused events, and keeps others waiting for the rest of the transaction.
async fn lock(connection: &mut PgConnection) -> Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('millrace.rejected_events', 0)) is null as x"
    )
    .fetch_one(&mut *connection)
    .await?;
    Ok(())
}

/// Stores a batch, and deletes what its workspaces have too many of; the deleted ones are counted.
pub(crate) async fn store(connection: &mut PgConnection, batch: &RejectedBatch) -> Result<()> {
    // One process at a time: what is deleted is counted once, and no two wait for each other.
    lock(&mut *connection).await?;
    insert(connection, &batch.events).await?;
    count(connection, batch).await?;
    let mut workspaces: Vec<Uuid> = batch.events.iter().map(|event| event.workspace_id).collect();
    workspaces.sort_unstable();
    workspaces.dedup();
    trim(connection, &workspaces).await
}

/// Stores refused events of one workspace, and returns them, but for those that are listed already: with the same key,
/// id, user and reason.
pub(crate) async fn store_new(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    mut events: Vec<Arc<KeptRejection>>,
) -> Result<Vec<Arc<KeptRejection>>> {
    lock(&mut *connection).await?;
    let column = Columns::of(&events);
    let listed = sqlx::query_scalar!(
        r#"select wish.place as "place!"
           from unnest($2::text[], $3::text[], $4::text[], $5::text[]) with ordinality
               as wish (key_id, client_event_id, user_id, reason, place)
           where exists (
               select from rejected_event e
               where e.workspace_id = $1 and e.key_id = wish.key_id and e.client_event_id = wish.client_event_id
                   and e.user_id = wish.user_id and e.reason = wish.reason)"#,
        workspace.uuid(),
        &column.keys as _,
        &column.event_ids as _,
        &column.users as _,
        &column.reasons as _,
    )
    .fetch_all(&mut *connection)
    .await?;
    let listed: HashSet<i64> = listed.into_iter().collect();
    let mut place = 0;
    events.retain(|_| {
        place += 1;
        !listed.contains(&place)
    });
    let batch = RejectedBatch { events, ..RejectedBatch::default() };
    if !batch.is_empty() {
        store(connection, &batch).await?;
    }
    Ok(batch.events)
}

async fn insert(connection: &mut PgConnection, events: &[Arc<KeptRejection>]) -> Result<()> {
    let column = Columns::of(events);
    sqlx::query!(
        "insert into rejected_event
             (workspace_id, rejected_at, key_id, name, user_id, client_event_id, reason, body, is_public)
         select e.workspace_id, e.rejected_at, e.key_id, e.name, e.user_id, e.client_event_id, e.reason,
             e.body, e.is_public
         from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[],
                 $7::text[], $8::text[], $9::boolean[])
             with ordinality
             as e (workspace_id, rejected_at, key_id, name, user_id, client_event_id, reason, body, is_public, at)
         join workspace w on w.id = e.workspace_id
         order by e.at",
        &column.workspaces,
        &column.times,
        &column.keys as _,
        &column.names as _,
        &column.users as _,
        &column.event_ids as _,
        &column.reasons as _,
        &column.bodies as _,
        &column.are_public,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Column arrays for `unnest`.
#[derive(Debug, Default)]
struct Columns<'a> {
    workspaces: Vec<Uuid>,
    times: Vec<DateTime<Utc>>,
    keys: Vec<&'a str>,
    names: Vec<Option<&'a str>>,
    users: Vec<Option<&'a str>>,
    event_ids: Vec<Option<&'a str>>,
    reasons: Vec<&'a str>,
    bodies: Vec<&'a str>,
    are_public: Vec<bool>,
}

impl<'a> Columns<'a> {
    fn of(events: &'a [Arc<KeptRejection>]) -> Self {
        let mut all = Self::default();
        for event in events {
            all.workspaces.push(event.workspace_id);
            all.times.push(Timestamp::from_millis(event.at_ms).utc());
            all.keys.push(&event.key_id);
            all.names.push(event.name.as_deref());
            all.users.push(event.user_id.as_deref());
            all.event_ids.push(event.event_id.as_deref());
            all.reasons.push(&event.reason);
            all.bodies.push(&event.body);
            all.are_public.push(event.is_public);
        }
        all
    }
}

/// Counts the events of a batch that are not listed.
async fn count(connection: &mut PgConnection, batch: &RejectedBatch) -> Result<()> {
    let workspaces: Vec<Uuid> = batch.unlisted.iter().map(|one| one.workspace_id).collect();
    let time = |ms| Timestamp::from_millis(ms).utc();
    let times: Vec<DateTime<Utc>> = batch.unlisted.iter().map(|one| time(one.at_ms)).collect();
    let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
    let counts: Vec<i64> = batch.unlisted.iter().map(|one| number(one.count)).collect();
    sqlx::query!(
        "insert into rejected_event_unlisted as u (workspace_id, hour, events)
         select e.workspace_id, date_trunc('hour', e.at, 'UTC'), sum(e.events)::bigint
         from unnest($1::uuid[], $2::timestamptz[], $3::bigint[]) as e (workspace_id, at, events)
         join workspace w on w.id = e.workspace_id
         group by 1, 2
         on conflict (workspace_id, hour) do update set events = u.events + excluded.events",
        &workspaces,
        &times,
        &counts,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the oldest events of these workspaces above the limit of their senders, and counts them.
async fn trim(connection: &mut PgConnection, workspaces: &[Uuid]) -> Result<()> {
    sqlx::query!(
        "with gone as (
             delete from rejected_event e
             using unnest($1::uuid[]) as w (id)
             cross join (values (false, $2::bigint), (true, $3::bigint)) as senders (is_public, listed_max)
             cross join lateral (
                 select n.rejected_at, n.id from rejected_event n
                 where n.workspace_id = w.id and n.is_public = senders.is_public
                 order by n.rejected_at desc, n.id desc
                 offset senders.listed_max limit 1) newest_over
             where e.workspace_id = w.id and e.is_public = senders.is_public
                 and (e.rejected_at, e.id) <= (newest_over.rejected_at, newest_over.id)
             returning e.workspace_id, e.rejected_at)
         insert into rejected_event_unlisted as u (workspace_id, hour, events)
         select workspace_id, date_trunc('hour', rejected_at, 'UTC'), count(*) from gone group by 1, 2
         on conflict (workspace_id, hour) do update set events = u.events + excluded.events",
        workspaces,
        LISTED_OF_SERVERS_MAX,
        LISTED_OF_PUBLIC_MAX,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The newest refused events of a workspace, and the number of all since a time; of those that are not listed all of an
/// hour count. Where not all fit, half of the list is kept for the servers and half for public senders.
pub(crate) async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    wanted: WantedRefusals,
) -> Result<RefusedEvents> {
    // One statement, so that both are of one moment.
    let rows = sqlx::query!(
        r#"select t.total as "total!", e.rejected_at as "rejected_at?", e.key_id as "key_id?", e.name as "name?",
               e.user_id as "user_id?", e.client_event_id as "client_event_id?", e.reason as "reason?",
               e.body as "body?"
           from (
               select (select count(*) from rejected_event where workspace_id = $1 and rejected_at >= $2)
                   + (select coalesce(sum(events), 0)::bigint from rejected_event_unlisted
                      where workspace_id = $1 and hour >= date_trunc('hour', $2::timestamptz, 'UTC')) as total) t
           left join lateral (
               select newest.* from (values (false), (true)) as senders (is_public)
               cross join lateral (
                   select r.*, row_number() over (order by r.rejected_at desc, r.id desc) as place
                   from rejected_event r
                   where r.workspace_id = $1 and r.is_public = senders.is_public and r.rejected_at >= $2
                   order by r.rejected_at desc, r.id desc
                   limit $3::bigint + $4::bigint) newest
               order by newest.place, newest.rejected_at desc, newest.id desc
               limit $3 offset $4) e on true
           order by e.rejected_at desc, e.id desc"#,
        workspace.uuid(),
        wanted.since.utc(),
        wanted.limit,
        wanted.offset,
    )
    .fetch_all(db)
    .await?;
    let total = rows.first().map_or(0, |row| row.total).unsigned_abs();
    let events = rows.into_iter().filter_map(|row| {
        Some(RefusedEvent {
            at: row.rejected_at?.into(),
            key_id: row.key_id?,
            name: row.name,
            user_id: row.user_id,
            client_event_id: row.client_event_id,
            reason: row.reason?,
            body: row.body?,
        })
    });
    Ok(RefusedEvents { events: events.collect(), total })
}

/// Deletes a page of what is older than a time; returns how many events.
pub(crate) async fn delete_expired(
    connection: &mut PgConnection,
    before: Timestamp,
    limit: i64,
) -> Result<u64> {
    let done = sqlx::query!(
        "delete from rejected_event e
         using (
             select workspace_id, rejected_at, id from rejected_event
             where rejected_at < $1
             order by rejected_at
             limit $2
             for update skip locked) old
         where e.workspace_id = old.workspace_id and e.rejected_at = old.rejected_at and e.id = old.id",
        before.utc(),
        limit,
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "delete from rejected_event_unlisted u
         using (
             select workspace_id, hour from rejected_event_unlisted
             where hour < date_trunc('hour', $1::timestamptz, 'UTC')
             limit $2
             for update skip locked) old
         where u.workspace_id = old.workspace_id and u.hour = old.hour",
        before.utc(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
