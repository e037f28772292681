//! What the worker takes up, and how far it came.

use std::collections::BTreeMap;

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::user_id;
use crate::model::{EventsFate, RequestId, Step};

/// A request that is worked on.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) workspace: WorkspaceId,
    pub(crate) id: RequestId,
    pub(crate) user: Option<UserId>,
    pub(crate) events: Option<EventsFate>,
    pub(crate) step: Step,
    /// Random bytes of an erasure, until it has forgotten its identifiers.
    pub(crate) hash_key: Option<Vec<u8>>,
}

/// Erasures of one workspace that are worked on in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) workspace: WorkspaceId,
    pub(crate) requests: Vec<Uuid>,
}

impl Group {
    /// Groups of `size` erasures at most.
    pub(crate) fn of(works: &[&Work], size: usize) -> Vec<Self> {
        let mut by_workspace: BTreeMap<WorkspaceId, Vec<Uuid>> = BTreeMap::new();
        for work in works {
            by_workspace.entry(work.workspace).or_default().push(work.id.uuid());
        }
        let groups = by_workspace.iter().flat_map(|(workspace, requests)| {
            requests
                .chunks(size)
                .map(|part| Self { workspace: *workspace, requests: part.to_vec() })
        });
        groups.collect()
    }
}

struct Row {
    workspace_id: Uuid,
    id: Uuid,
    user_id: Option<Vec<u8>>,
    events: Option<String>,
    step: Option<String>,
    hash_key: Option<Vec<u8>>,
}

impl TryFrom<Row> for Work {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        let step = row.step.as_deref().and_then(Step::named);
        Ok(Self {
            workspace: WorkspaceId::new(row.workspace_id),
            id: RequestId::new(row.id),
            user: row.user_id.as_deref().map(user_id).transpose()?,
            events: row.events.as_deref().and_then(EventsFate::named),
            step: step.unwrap_or(Step::Identify),
            hash_key: row.hash_key,
        })
    }
}

/// How many requests are open by state, and for how long the oldest is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Open {
    pub(crate) pending: i64,
    pub(crate) running: i64,
    pub(crate) oldest_seconds: f64,
}

/// How many requests of all workspaces are open.
pub(crate) async fn open(db: &PgPool, now: Timestamp) -> Result<Open> {
    let open = sqlx::query_as!(
        Open,
        r#"select count(*) filter (where state = 'pending') as "pending!",
               count(*) filter (where state = 'running') as "running!",
               coalesce(extract(epoch from $1 - min(requested_at)), 0)::float8 as "oldest_seconds!"
           from privacy_request
           where state in ('pending', 'running')"#,
        now.utc(),
    )
    .fetch_one(db)
    .await?;
    Ok(open)
}

/// Erasures that are under way; where there are none, the oldest that wait are begun.
pub(crate) async fn take_erasures(db: &PgPool, now: Timestamp, limit: i64) -> Result<Vec<Work>> {
    let mut tx = db.begin().await?;
    let mut rows = running(&mut tx).await?;
    if rows.is_empty() {
        sqlx::query!(
            "update privacy_request r
             set state = 'running', step = 'identify', started_at = coalesce(started_at, $1),
                 hash_key = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
             from (
                 select workspace_id, id from privacy_request
                 where state = 'pending' and type = 'erase'
                 order by requested_at limit $2 for update skip locked
             ) next
             where r.workspace_id = next.workspace_id and r.id = next.id",
            now.utc(),
            limit,
        )
        .execute(&mut *tx)
        .await?;
        rows = running(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(rows)
}

async fn running(connection: &mut PgConnection) -> Result<Vec<Work>> {
    let rows = sqlx::query_as!(
        Row,
        "select workspace_id, id, user_id, events, step, hash_key from privacy_request
         where state = 'running' and type = 'erase'
         order by workspace_id, id",
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(Work::try_from).collect()
}

/// The oldest export that is not done.
pub(crate) async fn next_export(db: &PgPool, now: Timestamp) -> Result<Option<Work>> {
    let row = sqlx::query_as!(
        Row,
        "update privacy_request r
         set state = 'running', started_at = coalesce(started_at, $1)
         from (
             select workspace_id, id from privacy_request
             where state in ('pending', 'running') and type = 'export'
             order by requested_at limit 1 for update
         ) next
         where r.workspace_id = next.workspace_id and r.id = next.id
         returning r.workspace_id, r.id, r.user_id, r.events, r.step, r.hash_key",
        now.utc(),
    )
    .fetch_optional(db)
    .await?;
    row.map(Work::try_from).transpose()
}

/// Notes what comes next for requests.
pub(crate) async fn advance(db: &PgPool, group: &[&Work], step: Step) -> Result<()> {
    let (workspaces, ids) = keys(group);
    sqlx::query!(
        "update privacy_request r set step = $3
         from unnest($1::uuid[], $2::uuid[]) as k (workspace_id, id)
         where r.workspace_id = k.workspace_id and r.id = k.id",
        &workspaces,
        &ids,
        step.as_str(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Ends erasures that are done.
pub(crate) async fn finish(db: &PgPool, group: &[&Work], now: Timestamp) -> Result<()> {
    let (workspaces, ids) = keys(group);
    sqlx::query!(
        "update privacy_request r set state = 'done', step = null, user_id = null, finished_at = $3
         from unnest($1::uuid[], $2::uuid[]) as k (workspace_id, id)
         where r.workspace_id = k.workspace_id and r.id = k.id",
        &workspaces,
        &ids,
        now.utc(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Ends an export, with the reason where it failed.
pub(crate) async fn finish_export(
    db: &PgPool,
    work: &Work,
    failure: Option<&str>,
    now: Timestamp,
    expires: Option<Timestamp>,
) -> Result<()> {
    sqlx::query!(
        "update privacy_request
         set state = case when $3::text is null then 'done' else 'failed' end, failure = $3,
             finished_at = $4, expires_at = $5
         where workspace_id = $1 and id = $2 and state = 'running'",
        work.workspace.uuid(),
        work.id.uuid(),
        failure,
        now.utc(),
        expires.map(Timestamp::utc),
    )
    .execute(db)
    .await?;
    Ok(())
}

fn keys(group: &[&Work]) -> (Vec<Uuid>, Vec<Uuid>) {
    group.iter().map(|work| (work.workspace.uuid(), work.id.uuid())).unzip()
}

/// Held by the process that works on requests, as long as its connection lives.
pub(crate) async fn try_lock(connection: &mut PgConnection) -> Result<bool> {
    /// The key of the advisory lock: `privacy` in ASCII.
    const KEY: i64 = 0x0070_7269_7661_6379;
    let taken = sqlx::query_scalar!(r#"select pg_try_advisory_lock($1) as "taken!""#, KEY);
    Ok(taken.fetch_one(connection).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(workspace: u128, id: u128) -> Work {
        Work {
            workspace: WorkspaceId::new(Uuid::from_u128(workspace)),
            id: RequestId::new(Uuid::from_u128(id)),
            user: None,
            events: None,
            step: Step::Rows,
            hash_key: None,
        }
    }

    #[test]
    fn a_group_is_of_one_workspace_and_of_so_many_requests_at_most() {
        let works: Vec<Work> =
            [(1, 1), (2, 2), (1, 3), (1, 4)].map(|(workspace, id)| work(workspace, id)).into();
        let groups = Group::of(&works.iter().collect::<Vec<_>>(), 2);
        let found: Vec<_> = groups
            .iter()
            .map(|group| {
                (
                    group.workspace.uuid().as_u128(),
                    group.requests.iter().map(Uuid::as_u128).collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_eq!(found, [(1, vec![1, 3]), (1, vec![4]), (2, vec![2])]);
        assert_eq!(Group::of(&[], 2), []);
    }
}
