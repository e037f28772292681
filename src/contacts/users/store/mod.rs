//! The SQL of profiles.

pub(super) mod bin;
pub(super) mod calls;
pub(super) mod phone_numbers;
pub(super) mod read;
pub(super) mod resolve;
pub(super) mod search;
pub(super) mod statistics;
pub(super) mod write;

use kernel::{Error, Result, Timestamp, UserId};
use serde_json::value::RawValue;
use sqlx::{PgPool, Postgres, Transaction};

use crate::users::model::{User, attributes};

/// Begins a transaction whose statements use indexes, one row at a time, and are planned anew for their
/// arguments. Otherwise the planner would keep a plan made for one profile, or scan a whole table because its
/// statistics call it small.
pub(super) async fn begin(db: &PgPool) -> Result<Transaction<'static, Postgres>> {
    let by_index = "begin;
        set local plan_cache_mode = force_custom_plan;
        set local enable_hashjoin = off;
        set local enable_mergejoin = off;
        set local enable_seqscan = off;
        set local jit = off";
    Ok(db.begin_with(by_index).await?)
}

/// A row of an active profile.
struct Row {
    id: Vec<u8>,
    external_id: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    attributes: String,
    created_at: chrono::DateTime<chrono::Utc>,
    updated_at: chrono::DateTime<chrono::Utc>,
}

impl TryFrom<Row> for User {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        let attributes = attributes::compact(&row.attributes);
        Ok(Self {
            id: user_id(&row.id)?,
            external_id: row.external_id,
            email: row.email,
            phone: row.phone,
            attributes: RawValue::from_string(attributes).map_err(anyhow::Error::from)?,
            created_at: Timestamp::from(row.created_at),
            updated_at: Timestamp::from(row.updated_at),
        })
    }
}

fn user_id(bytes: &[u8]) -> Result<UserId> {
    Ok(UserId::from_bytes(bytes.try_into().map_err(anyhow::Error::from)?))
}

fn bytes_of(ids: impl IntoIterator<Item = UserId>) -> Vec<Vec<u8>> {
    ids.into_iter().map(|id| id.bytes().to_vec()).collect()
}
