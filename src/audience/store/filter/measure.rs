//! Counting an audience: how many it means, and how many of them can be reached.

use sqlx::{Row as _, postgres::PgConnection};

use super::{
    Frame, REASONS, add,
    reach::{address_faults, preference},
    statement::Statement,
};
use crate::{
    audience::{
        model::{Measured, SubscriptionPreference},
        store::refused,
    },
    kernel::{Channel, Result},
};

/// How many are meant, and how many of them can be reached.
pub(in crate::audience) async fn measure(
    tx: &mut PgConnection,
    frame: Frame<'_>,
) -> Result<Measured> {
    match frame.ask.channel {
        // Where people have to opt in, nearly everybody may be an exception.
        Some(channel) if preference(frame) != SubscriptionPreference::OptedInOnly => {
            beside_exceptions(tx, frame, channel).await
        }
        _ => one_by_one(tx, frame).await,
    }
}

/// Counts everybody by what their profile says, beside those whom anything else leaves out: one join with the
/// few, where [`one_by_one`] has one with each thing that may.
async fn beside_exceptions(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    channel: Channel,
) -> Result<Measured> {
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
    statement.sql.push(" from users u left join (select user_id, min(reason) as reason from (");
    statement.exceptions(channel);
    statement.sql.push(") known group by user_id) e on e.user_id = u.id");
    statement.audience();
    let [matched, missing, unusable, invalid, unsubscribed, suppressed] =
        numbers(tx, statement).await?;
    let left_out = missing + unusable + invalid + unsubscribed + suppressed;
    Ok(measured([matched - left_out, missing, unusable + invalid, unsubscribed, suppressed]))
}

/// Puts everybody beside what is known of them.
async fn one_by_one(tx: &mut PgConnection, frame: Frame<'_>) -> Result<Measured> {
    let mut statement = Statement::new(frame, "select ");
    for code in 0..=REASONS {
        // Grouping would sort them all: the planner cannot know how few reasons there are.
        statement.sql.push(if code == 0 {
            "count(*) filter (where "
        } else {
            ", count(*) filter (where "
        });
        statement.reason();
        statement.sql.push(format!(" = {code})"));
    }
    statement.sql.push(" from users u");
    statement.audience();
    Ok(measured(numbers(tx, statement).await?))
}

fn measured(by_reason: [i64; 1 + REASONS as usize]) -> Measured {
    let mut measured = Measured::default();
    for (code, people) in (0..).zip(by_reason) {
        add(&mut measured, code, people);
    }
    measured
}

/// The one row of a statement, all of it counts.
async fn numbers<const N: usize>(
    tx: &mut PgConnection,
    mut statement: Statement<'_>,
) -> Result<[i64; N]> {
    let row = statement.sql.build().persistent(false).fetch_one(tx).await.map_err(refused)?;
    let mut numbers = [0; N];
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = row.try_get(place)?;
    }
    Ok(numbers)
}
