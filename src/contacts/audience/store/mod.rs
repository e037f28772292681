//! The SQL of audiences.

pub(super) mod filter;
pub(super) mod further;
mod ids;
pub(super) mod members;
pub(super) mod people;
pub(super) mod saved;
pub(super) mod survivors;

use kernel::{Error, Result};
use sqlx::{PgPool, Postgres, Transaction};

/// Time limit of one statement over an audience, in seconds.
const STATEMENT_SECONDS_MAX: u32 = 10;
/// SQLSTATE of a statement that exceeded its time limit.
const STATEMENT_TIMEOUT: &str = "57014";

/// Begins a transaction in which all queries of an audience see one snapshot. It gets memory for sorting and
/// hashing a million profiles, and two parallel workers; other statements of the server are short and have
/// neither. PostgreSQL ends the session if it stays idle.
pub(super) async fn begin(db: &PgPool) -> Result<Transaction<'static, Postgres>> {
    let look = "begin isolation level repeatable read;
        set local statement_timeout = '10s';
        set local idle_in_transaction_session_timeout = '60s';
        set local work_mem = '64MB';
        set local max_parallel_workers_per_gather = 2;
        set local jit = off";
    Ok(db.begin_with(look).await?)
}

/// Exceeding the time limit is an error of the query, and reported as such. Other errors are the server's.
fn refused(fault: sqlx::Error) -> Error {
    let answer = fault.as_database_error();
    if answer.and_then(sqlx::error::DatabaseError::code).as_deref() == Some(STATEMENT_TIMEOUT) {
        tracing::warn!(error = %fault, "an audience takes too long");
        return Error::bad_request(format!(
            "targeting takes longer than {STATEMENT_SECONDS_MAX} seconds to answer: fewer or narrower filters may help"
        ));
    }
    fault.into()
}
