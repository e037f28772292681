//! The people that match event filters, as ClickHouse found them: stored in temporary tables for one query of
//! an audience, so that this process only holds a chunk of them at a time.
//!
//! A chunk is a row of arrays: a row per person costs four times as much to write and to read. The tables are
//! temporary, so these statements cannot be checked at compile time; the tests run every one.

use kernel::{Result, WorkspaceId};
use sqlx::PgConnection;

use super::refused;
use crate::model::filter::CountRange;

/// Creates the tables, which are dropped with the transaction. Turns off parallel workers, because each of them
/// would have to read all the people.
pub(crate) async fn create(tx: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql(
        "create temporary table audience_people (filter smallint, tokens text[], ids bytea[], anonymous text[])
             on commit drop;
         create temporary table audience_tracked
             (filter smallint, firsts text[], seconds text[], anonymous text[], times bigint[]) on commit drop;
         alter table audience_people
             alter tokens set storage external, alter ids set storage external,
             alter anonymous set storage external;
         alter table audience_tracked
             alter firsts set storage external, alter seconds set storage external,
             alter anonymous set storage external, alter times set storage external;
         set local max_parallel_workers_per_gather = 0",
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// People that match one filter, by what their events were tracked with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'f> {
    pub(crate) tokens: &'f [String],
    /// Those of the tokens that are internal ids.
    pub(crate) ids: &'f [Vec<u8>],
    pub(crate) anonymous: &'f [String],
}

/// Adds people that match one filter.
pub(crate) async fn add(tx: &mut PgConnection, filter: i16, found: Found<'_>) -> Result<()> {
    sqlx::query(
        "insert into audience_people (filter, tokens, ids, anonymous) values ($1, $2, $3, $4)",
    )
    .bind(filter)
    .bind(found.tokens)
    .bind(found.ids)
    .bind(found.anonymous)
    .execute(tx)
    .await
    .map_err(refused)?;
    Ok(())
}

/// Adds to the people of one filter the profiles to which their identifiers are linked. Returns whether there are any.
///
/// A token that is a linked anonymous id names its profile as long as no profile has it as its external id.
pub(crate) async fn add_linked(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    filter: i16,
) -> Result<bool> {
    sqlx::raw_sql("set local enable_nestloop = off").execute(&mut *tx).await?;
    let done = sqlx::query(
        "with tokens as (
             select distinct token
             from audience_people p cross join lateral unnest(p.tokens) as t (token)
             where p.filter = $2
         ), linked as (
             select i.user_id
             from tokens t
             join identity i on i.workspace_id = $1 and i.id = t.token and i.type in ('external', 'alias')
                 and i.user_id is not null
             union
             select i.user_id
             from tokens t
             join identity i on i.workspace_id = $1 and i.id = t.token and i.type = 'anonymous'
                 and i.names_users and i.user_id is not null
             left join users u on u.workspace_id = $1 and u.external_id = t.token
                 and (u.deleted_at is null or u.keeps_external_id)
             where u.id is null
             union
             select i.user_id
             from audience_people p cross join lateral unnest(p.anonymous) as t (id)
             join identity i on i.workspace_id = $1 and i.id = t.id and i.type = 'anonymous'
                 and i.user_id is not null
             where p.filter = $2
             union
             select u.merged_into
             from audience_people p cross join lateral unnest(p.ids) as t (id)
             join users u on u.workspace_id = $1 and u.id = t.id and u.merged_into is not null
             where p.filter = $2
         )
         insert into audience_people (filter, ids)
         select $2, array_agg(user_id) from linked having count(*) > 0",
    )
    .bind(workspace.uuid())
    .bind(filter)
    .execute(&mut *tx)
    .await
    .map_err(refused)?;
    sqlx::raw_sql("set local enable_nestloop = on").execute(&mut *tx).await?;
    Ok(done.rows_affected() > 0)
}

/// The pairs of identifiers with which events of one filter were tracked, and their numbers.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub(crate) firsts: Vec<String>,
    pub(crate) seconds: Vec<String>,
    /// The anonymous id of an event without both.
    pub(crate) anonymous: Vec<String>,
    pub(crate) times: Vec<i64>,
}

/// Stores pairs of one filter until all have arrived.
pub(crate) async fn add_tracked(tx: &mut PgConnection, filter: i16, pairs: &Pairs) -> Result<()> {
    sqlx::query(
        "insert into audience_tracked (filter, firsts, seconds, anonymous, times)
         values ($1, $2, $3, $4, $5)",
    )
    .bind(filter)
    .bind(&pairs.firsts)
    .bind(&pairs.seconds)
    .bind(&pairs.anonymous)
    .bind(&pairs.times)
    .execute(tx)
    .await
    .map_err(refused)?;
    Ok(())
}

/// Replaces a filter's identifiers by the profiles with a number of events in this range. Each event counts
/// once for a profile, whether it was tracked by the external id, the internal id or both.
pub(crate) async fn count_by_profile(
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
             select row_number() over () as number, pair.first, pair.second, pair.anonymous, pair.times
             from audience_tracked t
             cross join lateral unnest(t.firsts, t.seconds, t.anonymous, t.times)
                 as pair (first, second, anonymous, times)
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
             join users named on named.workspace_id = $1 and named.id = n.id
             join users u on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id)
                 and u.deleted_at is null
             union
             select n.number, n.times, i.user_id
             from named n
             join identity i on i.workspace_id = $1 and i.id = n.token and i.type in ('external', 'alias')
                 and i.user_id is not null
             union
             select n.number, n.times, i.user_id
             from named n
             join identity i on i.workspace_id = $1 and i.id = n.token and i.type = 'anonymous'
                 and i.names_users and i.user_id is not null
             left join users u on u.workspace_id = $1 and u.external_id = n.token
                 and (u.deleted_at is null or u.keeps_external_id)
             where u.id is null
             union
             select t.number, t.times, i.user_id
             from tracked t
             join identity i on i.workspace_id = $1 and i.id = t.anonymous and i.type = 'anonymous'
                 and i.user_id is not null
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
