//! Internal ids as PostgreSQL has them.

use kernel::{Result, UserId};

pub(super) fn user_id(bytes: &[u8]) -> Result<UserId> {
    Ok(UserId::from_bytes(bytes.try_into().map_err(anyhow::Error::from)?))
}

pub(super) fn bytes_of(users: &[UserId]) -> Vec<Vec<u8>> {
    users.iter().map(|user| user.bytes().to_vec()).collect()
}
