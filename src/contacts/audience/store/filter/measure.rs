//! Counts an audience: the matching profiles, and how many of them can be reached.

use chrono::{DateTime, Utc};
use kernel::{Channel, Result, UserId};
use sqlx::{
    Row as _,
    postgres::{PgConnection, PgRow},
};

use super::{
    Frame, REASONS, add,
    reach::{address_faults, preference},
    statement::Statement,
    user_id,
};
use crate::{
    model::{AudienceQuery, Measured, MeasuredByChannel, SubscriptionPreference},
    store::refused,
};

/// The number of matching profiles, and how many of them can be reached.
pub(crate) async fn measure(tx: &mut PgConnection, frame: Frame<'_>) -> Result<Measured> {
    Ok(measured_row(tx, frame, None).await?.0)
}

/// The same as [`measure`], with the matching ones among this number of profiles that changed last, the latest
/// first.
pub(crate) async fn measure_with_latest(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    latest: i64,
) -> Result<(Measured, Vec<UserId>)> {
    let (measured, mut found) = measured_row(tx, frame, Some(latest)).await?;
    found.sort_unstable_by(|one, other| other.cmp(one));
    let ids = found.iter().map(|(_, id)| user_id(id)).collect::<Result<Vec<UserId>>>()?;
    Ok((measured, ids))
}

/// The number of matching profiles, and how many of them can be reached on each channel, in one scan where possible.
pub(crate) async fn measure_by_channel(
    tx: &mut PgConnection,
    frame: Frame<'_>,
) -> Result<MeasuredByChannel> {
    let mut measured = MeasuredByChannel::default();
    if preference(frame) == SubscriptionPreference::OptedInOnly {
        for (channel, reachable) in Channel::ALL.into_iter().zip(&mut measured.reachable) {
            let query = AudienceQuery { channel: Some(channel), ..*frame.query };
            let of_channel = measure(tx, Frame { query: &query, ..frame }).await?;
            measured.matched = of_channel.matched;
            *reachable = of_channel.reachable;
        }
        return Ok(measured);
    }
    let mut statement = Statement::new(frame, "select count(*)");
    for (place, channel) in Channel::ALL.into_iter().enumerate() {
        let [missing, unusable] = address_faults(channel);
        statement.sql.push(format!(
            ", count(*) filter (where not ({missing}) and not ({unusable}) and e{place}.user_id is null)"
        ));
    }
    statement.push_from();
    for (place, channel) in Channel::ALL.into_iter().enumerate() {
        statement.sql.push(" left join (select distinct user_id from (");
        statement.exceptions(channel);
        statement.sql.push(format!(") known) e{place} on e{place}.user_id = u.id"));
    }
    statement.audience();
    let row = only_row(tx, statement).await?;
    let [matched, reachable @ ..] = numbers::<{ 1 + Channel::ALL.len() }>(&row)?;
    measured.matched = matched.unsigned_abs();
    measured.reachable = reachable.map(i64::unsigned_abs);
    Ok(measured)
}

/// Profiles with the times of their latest changes.
type Changed = Vec<(DateTime<Utc>, Vec<u8>)>;

async fn measured_row(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    latest: Option<i64>,
) -> Result<(Measured, Changed)> {
    let (measured, row) = match frame.query.channel {
        // Where an opt-in is required, nearly every profile may be an exception.
        Some(channel) if preference(frame) != SubscriptionPreference::OptedInOnly => {
            count_by_exceptions(tx, frame, channel, latest).await?
        }
        _ => count_by_joins(tx, frame, latest).await?,
    };
    let mut changed = Changed::new();
    if latest.is_some() {
        let times: Option<Vec<DateTime<Utc>>> = row.try_get("changed_at")?;
        let ids: Option<Vec<Vec<u8>>> = row.try_get("changed")?;
        changed.extend(times.unwrap_or_default().into_iter().zip(ids.unwrap_or_default()));
    }
    Ok((measured, changed))
}

/// Adds columns with the matching profiles among this number that changed last, or among all where they are
/// fewer.
fn changed(statement: &mut Statement<'_>, latest: Option<i64>) {
    let Some(latest) = latest else { return };
    for (value, name) in [("u.updated_at", "changed_at"), ("u.id", "changed")] {
        statement
            .sql
            .push(format!(", array_agg({value}) filter (where ((u.updated_at, u.id) >= ("));
        statement.sql.push("select updated_at, id from users where workspace_id = ");
        statement.workspace();
        statement.sql.push(" and deleted_at is null order by updated_at desc, id desc offset ");
        statement.sql.push_bind(latest - 1).push(format!(" limit 1)) is not false) as {name}"));
    }
}

/// Counts profiles by their own fields, joined with the few exceptions. One join instead of one for each table
/// that may exclude a profile, as in [`count_by_joins`].
async fn count_by_exceptions(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    channel: Channel,
    latest: Option<i64>,
) -> Result<(Measured, PgRow)> {
    let [missing, unusable] = address_faults(channel);
    let usable = format!("not ({missing}) and not ({unusable})");
    let mut statement = Statement::new(frame, "select count(*)");
    for condition in [
        missing.to_owned(),
        format!("not ({missing}) and {unusable}"),
        format!("e.reason = 2 and {usable}"),
        format!("e.reason = 3 and {usable}"),
        format!("e.reason = 4 and {usable}"),
    ] {
        statement.sql.push(", count(*) filter (where ").push(condition).push(")");
    }
    changed(&mut statement, latest);
    statement.push_from();
    statement.sql.push(" left join (select user_id, min(reason) as reason from (");
    statement.exceptions(channel);
    statement.sql.push(") known group by user_id) e on e.user_id = u.id");
    statement.audience();
    let row = only_row(tx, statement).await?;
    let [matched, missing, unusable, invalid, unsubscribed, suppressed] = numbers(&row)?;
    let left_out = missing + unusable + invalid + unsubscribed + suppressed;
    let by_reason = [matched - left_out, missing, unusable + invalid, unsubscribed, suppressed];
    Ok((measured(by_reason), row))
}

/// Joins every profile with each table that may exclude it.
async fn count_by_joins(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    latest: Option<i64>,
) -> Result<(Measured, PgRow)> {
    let mut statement = Statement::new(frame, "select ");
    for code in 0..=REASONS {
        // Grouping would sort all rows: the planner does not know that there are few reasons.
        statement.sql.push(if code == 0 {
            "count(*) filter (where "
        } else {
            ", count(*) filter (where "
        });
        statement.reason();
        statement.sql.push(format!(" = {code})"));
    }
    changed(&mut statement, latest);
    statement.push_from();
    statement.audience();
    let row = only_row(tx, statement).await?;
    Ok((measured(numbers(&row)?), row))
}

fn measured(by_reason: [i64; 1 + REASONS as usize]) -> Measured {
    let mut measured = Measured::default();
    for (code, people) in (0..).zip(by_reason) {
        add(&mut measured, code, people);
    }
    measured
}

async fn only_row(tx: &mut PgConnection, mut statement: Statement<'_>) -> Result<PgRow> {
    statement.before(tx).await?;
    let row = statement.sql.build().persistent(false).fetch_one(&mut *tx).await.map_err(refused)?;
    statement.after(tx).await?;
    Ok(row)
}

/// The counts at the start of a row.
fn numbers<const N: usize>(row: &PgRow) -> Result<[i64; N]> {
    let mut numbers = [0; N];
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = row.try_get(place)?;
    }
    Ok(numbers)
}
