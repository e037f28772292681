//! Pages of reachable profiles, with the attributes that give their local time.

use kernel::{Result, UserId};
use sqlx::PgConnection;

use super::{Frame, statement::Statement};
use crate::{
    model::Recipient,
    store::{ids::user_id, refused},
};

/// The attributes that give a recipient's local time, if they are texts: the time zone, and a country code of
/// two letters.
const CLOCKS: &str = "case when jsonb_typeof(u.attributes -> 'timezone') = 'string' \
                      then u.attributes ->> 'timezone' end as timezone, \
                      case when jsonb_typeof(u.attributes -> 'country') = 'string' \
                          and length(u.attributes ->> 'country') = 2 \
                      then upper(u.attributes ->> 'country') end as country, ";

/// Internal id, external id, time zone, country.
type Row = (Vec<u8>, Option<String>, Option<String>, Option<String>);

/// A page of reachable profiles in id order.
pub(crate) async fn page(
    tx: &mut PgConnection,
    frame: Frame<'_>,
    after: Option<UserId>,
    size: i64,
) -> Result<Vec<Recipient>> {
    let mut statement = Statement::new(
        frame,
        "select r.id, r.external_id, r.timezone, r.country from (select u.id, u.external_id, ",
    );
    statement.sql.push(CLOCKS);
    statement.reason();
    statement.sql.push(" as reason from users u");
    statement.audience();
    if let Some(after) = after {
        statement.sql.push(" and u.id > ").push_bind(after.bytes().to_vec());
    }
    statement.sql.push(") r where r.reason = 0 order by r.id limit ").push_bind(size);
    let rows: Vec<Row> =
        statement.sql.build_query_as().persistent(false).fetch_all(tx).await.map_err(refused)?;
    rows.into_iter()
        .map(|(id, external_id, timezone, country)| {
            Ok(Recipient { user: user_id(&id)?, external_id, timezone, country })
        })
        .collect()
}
