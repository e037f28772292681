//! Telling a transaction that lost a race, and may be tried again, from one that failed.

use kernel::Error;

/// SQLSTATEs of lost races: serialization failure, deadlock, and a unique key that another
/// transaction took between the look and the write.
const LOST: [&str; 3] = ["40001", "40P01", "23505"];

/// Whether trying the transaction again can help.
pub(super) fn was_lost(error: &Error) -> bool {
    let Error::Internal(fault) = error else { return false };
    let answer = fault.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
    let state = answer.and_then(sqlx::error::DatabaseError::code);
    state.is_some_and(|state| LOST.contains(&state.as_ref()))
}
