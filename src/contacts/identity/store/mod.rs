//! The SQL of identities.

pub(super) mod links;
pub(super) mod merge;
pub(super) mod mirror;
pub(super) mod old;
pub(super) mod read;
pub(super) mod remove;
pub(super) mod values;

use kernel::{Result, UserId};

fn user_id(bytes: &[u8]) -> Result<UserId> {
    Ok(UserId::from_bytes(bytes.try_into().map_err(anyhow::Error::from)?))
}
