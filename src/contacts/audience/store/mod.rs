//! The SQL of audiences.

pub(super) mod filter;
pub(super) mod members;
pub(super) mod people;

use kernel::{Error, Result};
use sqlx::{PgPool, Postgres, Transaction};

/// Longest time one statement over an audience may run, in seconds.
const STATEMENT_SECONDS_MAX: u32 = 10;
/// SQLSTATE of a statement that ran into its time limit.
const STATEMENT_TIMEOUT: &str = "57014";

/// Begins a look at one audience: everything asked in it sees the same moment. Memory for sorting and
/// hashing is what a million profiles take, and two processes may help; elsewhere statements are short and
/// have neither. A session that its owner forgot is ended.
pub(super) async fn begin(db: &PgPool) -> Result<Transaction<'static, Postgres>> {
    let look = "begin isolation level repeatable read;
        set local statement_timeout = '10s';
        set local idle_in_transaction_session_timeout = '60s';
        set local work_mem = '64MB';
        set local max_parallel_workers_per_gather = 2;
        set local jit = off";
    Ok(db.begin_with(look).await?)
}

/// A statement that took too long is the question's fault; what else may go wrong is not.
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
