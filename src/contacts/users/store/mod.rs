//! The SQL of profiles.

pub(super) mod bin;
pub(super) mod calls;
pub(super) mod locks;
pub(super) mod phone_numbers;
pub(super) mod read;
pub(super) mod resolve;
pub(super) mod search;
pub(super) mod statistics;
pub(super) mod write;

use kernel::{Error, Result, Timestamp, UserId};
use serde_json::value::RawValue;

use crate::users::model::{User, attributes};

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
