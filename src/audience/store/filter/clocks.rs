//! By whose clocks those live whom a message reaches.

use sqlx::PgConnection;

use super::{Frame, statement::Statement, user_id};
use crate::{
    audience::{model::Recipient, store::refused},
    kernel::{Result, UserId},
};

/// The attribute that names a recipient's time zone, where it is a text.
const TIMEZONE: &str = "case when jsonb_typeof(u.attributes -> 'timezone') = 'string' \
                        then u.attributes ->> 'timezone' end as timezone, ";

/// How many can be reached by each of these time zones, and by none of them.
pub(in crate::audience) async fn by_timezone(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    names: &[String],
) -> Result<Vec<(Option<String>, u64)>> {
    let mut statement = Statement::new(frame, "select known.name, count(*) from (select ");
    statement.sql.push(TIMEZONE);
    statement.reason();
    statement.sql.push(" as reason from users u");
    statement.audience();
    statement.sql.push(") r left join unnest(").push_bind(names.to_vec());
    statement.sql.push("::text[]) as known (name) on known.name = r.timezone");
    statement.sql.push(" where r.reason = 0 group by known.name");
    let rows: Vec<(Option<String>, i64)> =
        statement.sql.build_query_as().persistent(false).fetch_all(tx).await.map_err(refused)?;
    Ok(rows.into_iter().map(|(name, people)| (name, people.unsigned_abs())).collect())
}

/// A page by id of those who can be reached.
pub(in crate::audience) async fn page(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    after: Option<UserId>,
    size: i64,
) -> Result<Vec<Recipient>> {
    let mut statement = Statement::new(
        frame,
        "select r.id, r.external_id, r.timezone from (select u.id, u.external_id, ",
    );
    statement.sql.push(TIMEZONE);
    statement.reason();
    statement.sql.push(" as reason from users u");
    statement.audience();
    if let Some(after) = after {
        statement.sql.push(" and u.id > ").push_bind(after.bytes().to_vec());
    }
    statement.sql.push(") r where r.reason = 0 order by r.id limit ").push_bind(size);
    let rows: Vec<(Vec<u8>, Option<String>, Option<String>)> =
        statement.sql.build_query_as().persistent(false).fetch_all(tx).await.map_err(refused)?;
    rows.into_iter()
        .map(|(id, external_id, timezone)| {
            Ok(Recipient { user: user_id(&id)?, external_id, timezone })
        })
        .collect()
}
