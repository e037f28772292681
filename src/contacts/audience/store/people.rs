//! The people that match event filters, as ClickHouse found them: stored in temporary tables for one query of
//! an audience, so that this process only holds a chunk of them at a time.
//!
//! A chunk is a row of arrays: a row per person costs four times as much to write and to read. The tables are
//! temporary, so these statements cannot be checked at compile time; the tests run every one.

use kernel::{Result, WorkspaceId};
use sqlx::PgConnection;

use super::refused;
use crate::audience::model::filter::CountRange;

/// Creates the tables, which are dropped with the transaction. Turns off parallel workers, because each of them
/// would have to read all the people.
pub(in crate::audience) async fn create(tx: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql(
        "create temporary table audience_people (filter smallint, tokens text[], ids bytea[])
             on commit drop;
         create temporary table audience_tracked
             (filter smallint, firsts text[], seconds text[], times bigint[]) on commit drop;
         alter table audience_people
             alter tokens set storage external, alter ids set storage external;
         alter table audience_tracked
             alter firsts set storage external, alter seconds set storage external,
             alter times set storage external;
         set local max_parallel_workers_per_gather = 0",
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Adds people that match one filter: their tracked identifiers, and those of these that are internal ids.
pub(in crate::audience) async fn add(
    tx: &mut PgConnection,
    filter: i16,
    tokens: &[String],
    ids: &[Vec<u8>],
) -> Result<()> {
    sqlx::query("insert into audience_people (filter, tokens, ids) values ($1, $2, $3)")
        .bind(filter)
        .bind(tokens)
        .bind(ids)
        .execute(tx)
        .await
        .map_err(refused)?;
    Ok(())
}

/// The pairs of identifiers with which events of one filter were tracked, and their numbers.
#[derive(Debug, Default)]
pub(in crate::audience) struct Pairs {
    pub(in crate::audience) firsts: Vec<String>,
    pub(in crate::audience) seconds: Vec<String>,
    pub(in crate::audience) times: Vec<i64>,
}

/// Stores pairs of one filter until all have arrived.
pub(in crate::audience) async fn add_tracked(
    tx: &mut PgConnection,
    filter: i16,
    pairs: &Pairs,
) -> Result<()> {
    sqlx::query(
        "insert into audience_tracked (filter, firsts, seconds, times) values ($1, $2, $3, $4)",
    )
    .bind(filter)
    .bind(&pairs.firsts)
    .bind(&pairs.seconds)
    .bind(&pairs.times)
    .execute(tx)
    .await
    .map_err(refused)?;
    Ok(())
}

/// Replaces a filter's identifiers by the profiles with a number of events in this range. Each event counts
/// once for a profile, whether it was tracked by the external id, the internal id or both.
pub(in crate::audience) async fn count_by_profile(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    filter: i16,
    range: CountRange,
) -> Result<()> {
    let bound = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    // The planner does not know the sizes, and a lookup for each of a million identifiers would be too slow.
    sqlx::raw_sql("set local enable_nestloop = off").execute(&mut *tx).await?;
    sqlx::query("delete from audience_people where filter = $1")
        .bind(filter)
        .execute(&mut *tx)
        .await?;
    sqlx::query(
        "with tracked as (
             select row_number() over () as number, pair.first, pair.second, pair.times
             from audience_tracked t
             cross join lateral unnest(t.firsts, t.seconds, t.times) as pair (first, second, times)
             where t.filter = $2
         ), named as (
             select number, times, first as token from tracked where first <> ''
             union all
             select number, times, second from tracked where second <> '' and second <> first
         ), belonging as (
             select n.number, n.times, u.id
             from named n
             join users u on u.workspace_id = $1 and u.external_id = n.token and u.deleted_at is null
             union
             select n.number, n.times, u.id
             from (
                 select number, times, decode(token, 'hex') as id
                 from named
                 where token ~ '^[0-9a-f]{24}$'
             ) n
             join users u on u.workspace_id = $1 and u.id = n.id and u.deleted_at is null
         )
         insert into audience_people (filter, ids)
         select $2, array_agg(id)
         from (
             select id from belonging group by id having sum(times) between $3 and $4
         ) counted",
    )
    .bind(workspace.uuid())
    .bind(filter)
    .bind(bound(range.least))
    .bind(bound(range.most))
    .execute(&mut *tx)
    .await
    .map_err(refused)?;
    sqlx::raw_sql("set local enable_nestloop = on").execute(&mut *tx).await?;
    Ok(())
}
