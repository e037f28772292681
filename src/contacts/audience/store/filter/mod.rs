//! The one statement of an audience: from a targeting to SQL. Whatever a caller said is a parameter.
//!
//! Three-valued logic is kept out: a predicate that is null counts as false, which `and` and `or` respect;
//! what negates (`not_…`, excluded groups) is written `(…) is not true`.

mod attribute;
pub(in crate::audience) mod clocks;
pub(in crate::audience) mod measure;
mod reach;
mod statement;

use kernel::{Result, Timestamp, UserId, WorkspaceId};
use sqlx::postgres::PgConnection;

use self::statement::Statement;
use super::refused;
use crate::audience::model::{Ask, Excluded, Exclusion, Measured, Person, Reached};

/// Reasons not to reach somebody: the numbers from 1 that [`exclusion`] reads.
const REASONS: i32 = 4;

/// The people of one event or engagement filter, as they were put into `audience_people`.
#[derive(Debug, Clone, Copy)]
pub(in crate::audience) struct PeopleSet {
    pub(in crate::audience) filter: i16,
    /// Whether any is named by an identifier as tracked.
    pub(in crate::audience) has_tokens: bool,
    /// Whether any is named by an internal id.
    pub(in crate::audience) has_ids: bool,
    /// Whether the filter means everyone but them.
    pub(in crate::audience) outside: bool,
}

impl PeopleSet {
    /// Of a question about one profile alone: whether it is among them.
    pub(in crate::audience) const fn of_one(is_in: bool) -> Self {
        Self { filter: 0, has_tokens: false, has_ids: false, outside: is_in }
    }
}

/// A question whose event filters have been answered.
#[derive(Debug, Clone, Copy)]
pub(in crate::audience) struct Frame<'a> {
    pub(in crate::audience) workspace: WorkspaceId,
    pub(in crate::audience) ask: &'a Ask<'a>,
    /// The few who are asked about; everyone where absent.
    pub(in crate::audience) among: Option<&'a [Person]>,
    pub(in crate::audience) now: Timestamp,
    /// In the order of [`Targeting::filters`].
    pub(in crate::audience) people: &'a [PeopleSet],
}

/// An id read from the store.
pub(in crate::audience::store) fn user_id(bytes: &[u8]) -> Result<UserId> {
    Ok(UserId::from_bytes(bytes.try_into().map_err(anyhow::Error::from)?))
}

/// A reason as the statement writes it; 0 is none.
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

/// Those meant who changed last, looked for only among so many profiles that changed last of all.
pub(in crate::audience) async fn newest_among(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    latest: i64,
    limit: i64,
) -> Result<Vec<UserId>> {
    let mut statement = Statement::new(frame, "select u.id from (select * from users");
    statement.sql.push(" where workspace_id = ").push_bind(frame.workspace.uuid());
    statement.sql.push(" and deleted_at is null order by updated_at desc, id desc limit ");
    statement.sql.push_bind(latest).push(") u");
    first_of(tx, statement, limit).await
}

/// Those meant who changed last.
pub(in crate::audience) async fn newest(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    limit: i64,
) -> Result<Vec<UserId>> {
    first_of(tx, Statement::new(frame, "select u.id from users u"), limit).await
}

async fn first_of(
    tx: &mut PgConnection,
    mut statement: Statement<'_>,
    limit: i64,
) -> Result<Vec<UserId>> {
    statement.audience();
    statement.sql.push(" order by u.updated_at desc, u.id desc limit ").push_bind(limit);
    let rows: Vec<Vec<u8>> = statement
        .sql
        .build_query_scalar()
        .persistent(false)
        .fetch_all(tx)
        .await
        .map_err(refused)?;
    rows.iter().map(|id| user_id(id)).collect()
}

/// A row of [`measure_with_newest`]: an id, or a reason and how many it holds of.
type IdOrCount = (Option<Vec<u8>>, Option<i32>, Option<i64>);

/// How many are meant and reached, and those meant who changed last, of an audience that is looked
/// through only once: worth it where few are meant.
pub(in crate::audience) async fn measure_with_newest(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    limit: i64,
) -> Result<(Measured, Vec<UserId>)> {
    let mut statement =
        Statement::new(frame, "with meant as materialized (select u.id, u.updated_at, ");
    statement.reason();
    statement.sql.push(" as reason from users u");
    statement.audience();
    statement.sql.push(
        ") select null::bytea, reason, count(*) from meant group by reason
         union all
         (select id, null, null from meant order by updated_at desc, id desc limit ",
    );
    statement.sql.push_bind(limit).push(")");
    let rows: Vec<IdOrCount> =
        statement.sql.build_query_as().persistent(false).fetch_all(tx).await.map_err(refused)?;
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

/// Whether each of these questions means one profile; none does where it is not there.
pub(in crate::audience) async fn includes(
    tx: &mut PgConnection,
    frames: &[Frame<'_>],
    user: UserId,
) -> Result<Vec<bool>> {
    let Some(first) = frames.first() else { return Ok(Vec::new()) };
    let mut statement = Statement::new(*first, "select array[");
    for (place, frame) in frames.iter().enumerate() {
        statement.sql.push(if place == 0 { "(true" } else { ", (true" });
        statement.turn_to(*frame);
        statement.meant();
        statement.sql.push(")");
    }
    statement.sql.push("] from users u where u.workspace_id = ");
    statement.workspace();
    statement.sql.push(" and u.deleted_at is null and u.id = ").push_bind(user.bytes().to_vec());
    let verdicts: Option<Vec<Option<bool>>> = statement
        .sql
        .build_query_scalar()
        .persistent(false)
        .fetch_optional(tx)
        .await
        .map_err(refused)?;
    let verdicts = verdicts.unwrap_or_else(|| vec![None; frames.len()]);
    Ok(verdicts.into_iter().map(|verdict| verdict == Some(true)).collect())
}

/// A page of those meant, by id.
pub(in crate::audience) async fn page(
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
