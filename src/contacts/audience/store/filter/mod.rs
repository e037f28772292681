//! The one statement of an audience: a targeting as SQL. Every value from a caller is a parameter.
//!
//! Three-valued logic is avoided: a null predicate counts as false, which `and` and `or` respect. Negations
//! (`not_…`, excluded groups) are written `(…) is not true`.

mod attribute;
pub(crate) mod clocks;
pub(crate) mod measure;
mod reach;
mod source;
mod statement;

use std::collections::HashMap;

use kernel::{Channel, Country, Result, Timestamp, UserId, WorkspaceId, page::PageWindow};
use sqlx::postgres::PgConnection;

use self::statement::Statement;
use super::{
    ids::{bytes_of, user_id},
    refused,
    survivors::Survivors,
};
use crate::model::{
    AudienceQuery, Excluded, Exclusion, Measured, Person, Reached, SavedTargetings,
};

/// The number of reasons for an exclusion, numbered from 1 as in [`exclusion`].
const REASONS: i32 = 4;

/// The people that match one event or engagement filter.
#[derive(Debug, Clone)]
pub(crate) enum PeopleSet {
    /// Those stored in `audience_people` under this number.
    Stored {
        filter: i16,
        /// Whether some are stored by the identifier that was tracked.
        has_tokens: bool,
        /// Whether some are stored by their internal id.
        has_ids: bool,
        /// Whether the filter matches everyone but them.
        outside: bool,
        /// Whether none is stored twice.
        is_distinct: bool,
    },
    /// Of a few profiles, those that match.
    Known(Vec<UserId>),
}

/// The people of each event and engagement filter, by [`Filter::key`](crate::model::Filter::key).
pub(crate) type PeopleSets = HashMap<String, PeopleSet>;

/// A query whose event filters have been answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) workspace: WorkspaceId,
    /// The country of national phone numbers in the workspace.
    pub(crate) country: Option<Country>,
    pub(crate) query: &'a AudienceQuery<'a>,
    /// The channel on which a member of a list has to be subscribed; any channel where absent.
    pub(crate) lists_on: Option<Channel>,
    /// The only profiles of interest; every profile where absent.
    pub(crate) among: Option<&'a [Person]>,
    pub(crate) now: Timestamp,
    /// The targetings of the segments that the query uses.
    pub(crate) saved: &'a SavedTargetings,
    pub(crate) people: &'a PeopleSets,
    /// Profiles into which some `userIds` were merged, of the query and of the segments it uses.
    pub(crate) survivors: &'a Survivors,
}

/// The reason with this number; 0 is none.
fn exclusion(code: i32) -> Option<Exclusion> {
    Some(match code {
        1 => Exclusion::NoAddress,
        2 => Exclusion::InvalidAddress,
        3 => Exclusion::Unsubscribed,
        4 => Exclusion::Suppressed,
        _ => return None,
    })
}

fn add(measured: &mut Measured, code: i32, people: i64) {
    let people = people.unsigned_abs();
    measured.matched += people;
    match exclusion(code) {
        None => measured.reachable += people,
        Some(reason) => Excluded::add(&mut measured.excluded, reason, people),
    }
}

/// The matching profiles that changed last, among this number of profiles that changed last.
pub(crate) async fn newest_among(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    latest: i64,
    limit: u32,
) -> Result<Vec<UserId>> {
    let mut statement = Statement::new(frame, "select u.id from (select * from users");
    statement.sql.push(" where workspace_id = ").push_bind(frame.workspace.uuid());
    statement.sql.push(" and deleted_at is null order by updated_at desc, id desc limit ");
    statement.sql.push_bind(latest).push(") u");
    first_of(tx, statement, PageWindow { limit, offset: 0 }).await
}

/// The matching profiles that changed last, after the first of them.
pub(crate) async fn newest(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    window: PageWindow,
) -> Result<Vec<UserId>> {
    first_of(tx, Statement::new(frame, "select u.id from users u"), window).await
}

async fn first_of(
    tx: &mut PgConnection,
    mut statement: Statement<'_>,
    window: PageWindow,
) -> Result<Vec<UserId>> {
    statement.audience();
    statement.sql.push(" order by u.updated_at desc, u.id desc limit ").push_bind(window.limit());
    statement.sql.push(" offset ").push_bind(window.offset());
    let rows: Vec<Vec<u8>> = statement
        .sql
        .build_query_scalar()
        .persistent(false)
        .fetch_all(tx)
        .await
        .map_err(refused)?;
    rows.iter().map(|id| user_id(id)).collect()
}

/// A row of [`measure_with_newest`]: an id, or a reason and its count.
type IdOrCount = (Option<Vec<u8>>, Option<i32>, Option<i64>);

/// The size of an audience and its profiles that changed last, from one scan. Worth it where few profiles
/// match.
pub(crate) async fn measure_with_newest(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    limit: i64,
) -> Result<(Measured, Vec<UserId>)> {
    let mut statement =
        Statement::new(frame, "with meant as materialized (select u.id, u.updated_at, ");
    statement.reason();
    statement.sql.push(" as reason");
    statement.push_from();
    statement.audience();
    statement.sql.push(
        ") select null::bytea, reason, count(*) from meant group by reason
         union all
         (select id, null, null from meant order by updated_at desc, id desc limit ",
    );
    statement.sql.push_bind(limit).push(")");
    statement.before(tx).await?;
    let query = statement.sql.build_query_as().persistent(false);
    let rows: Vec<IdOrCount> = query.fetch_all(&mut *tx).await.map_err(refused)?;
    statement.after(tx).await?;
    let (mut measured, mut newest) = (Measured::default(), Vec::new());
    for row in rows {
        match row {
            (Some(id), ..) => newest.push(user_id(&id)?),
            (None, code, people) => {
                add(&mut measured, code.unwrap_or(0), people.unwrap_or(0));
            }
        }
    }
    Ok((measured, newest))
}

/// Which of these profiles match each of these queries. A profile that is unknown or deleted is left out.
pub(crate) async fn matching(
    tx: &mut PgConnection,
    frames: &[Frame<'_>],
    users: &[UserId],
) -> Result<Vec<(UserId, Vec<bool>)>> {
    let Some(first) = frames.first() else { return Ok(Vec::new()) };
    let mut statement = Statement::new(*first, "select u.id, array[");
    for (place, frame) in frames.iter().enumerate() {
        statement.sql.push(if place == 0 { "(true" } else { ", (true" });
        statement.continue_with(*frame);
        statement.matching();
        statement.sql.push(")");
    }
    statement.sql.push("] from users u where u.workspace_id = ");
    statement.workspace();
    statement.sql.push(" and u.deleted_at is null and u.id = any(").push_bind(bytes_of(users));
    statement.sql.push(")");
    let rows: Vec<(Vec<u8>, Vec<Option<bool>>)> =
        statement.sql.build_query_as().persistent(false).fetch_all(tx).await.map_err(refused)?;
    rows.into_iter()
        .map(|(id, matches)| {
            Ok((user_id(&id)?, matches.into_iter().map(|is| is == Some(true)).collect()))
        })
        .collect()
}

/// A page of matching profiles in id order.
pub(crate) async fn page(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    after: Option<UserId>,
    size: i64,
) -> Result<Vec<Reached>> {
    let mut statement = Statement::new(frame, "select u.id, ");
    statement.reason();
    statement.sql.push(" as reason from users u");
    statement.audience();
    if let Some(after) = after {
        statement.sql.push(" and u.id > ").push_bind(after.bytes().to_vec());
    }
    statement.sql.push(" order by u.id limit ").push_bind(size);
    let rows: Vec<(Vec<u8>, i32)> =
        statement.sql.build_query_as().persistent(false).fetch_all(tx).await.map_err(refused)?;
    rows.into_iter()
        .map(|(id, code)| Ok(Reached { user: user_id(&id)?, excluded: exclusion(code) }))
        .collect()
}
