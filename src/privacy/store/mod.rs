//! SQL of privacy requests.

pub(crate) mod erase;
pub(crate) mod export;
pub(crate) mod nodes;
pub(crate) mod people;
pub(crate) mod requests;
pub(crate) mod rewrite;
pub(crate) mod work;

use kernel::{Result, UserId};

fn user_id(bytes: &[u8]) -> Result<UserId> {
    let bytes: [u8; 12] = bytes.try_into().map_err(anyhow::Error::from)?;
    Ok(UserId::from_bytes(bytes))
}
