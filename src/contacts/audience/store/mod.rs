//! The SQL of audiences.

pub(super) mod filter;
pub(super) mod further;
mod ids;
pub(super) mod members;
pub(super) mod people;
pub(super) mod saved;
pub(super) mod survivors;

use std::num::NonZeroUsize;

use kernel::{Error, Result};
use sqlx::{PgPool, Postgres, Transaction};

/// Time limit of one statement over an audience, in seconds.
const STATEMENT_SECONDS_MAX: u32 = 10;
/// SQLSTATE of a statement that exceeded its time limit.
const STATEMENT_TIMEOUT: &str = "57014";

/// Begins the transaction of an audience with a number of parallel workers.
macro_rules! begin_with_workers {
    ($workers:literal) => {
        concat!(
            "begin isolation level repeatable read;
            set local statement_timeout = '10s';
            set local idle_in_transaction_session_timeout = '60s';
            set local work_mem = '64MB';
            set local max_parallel_workers_per_gather = ",
            $workers,
            ";
            set local jit = off"
        )
    };
}

/// Begins a transaction in which all queries of an audience see one snapshot. It gets memory for sorting and
/// hashing a million profiles, and parallel workers; other statements of the server are short and have neither.
/// One processor is left to the acknowledgement of events. PostgreSQL ends the session if it stays idle.
pub(super) async fn begin(db: &PgPool) -> Result<Transaction<'static, Postgres>> {
    let begin = match std::thread::available_parallelism().map_or(1, NonZeroUsize::get) {
        1 => begin_with_workers!(0),
        2 => begin_with_workers!(1),
        _ => begin_with_workers!(2),
    };
    Ok(db.begin_with(begin).await?)
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
