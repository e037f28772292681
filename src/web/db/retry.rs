//! Transactions that lost a race begin again.
//!
//! Rows are locked in one order everywhere, so deadlocks should not happen; where one does all the same
//! (a foreign key, an index page), the loser is the server's business and not the caller's.

use std::{future::Future, time::Duration};

use kernel::{Error, Result, store::StoreFault};
use supervisor::Backoff;

/// Tries of one piece of work; the last one's failure is the caller's.
const TRIES_MAX: u32 = 5;
/// Longest pause before the second attempt; it doubles.
const PAUSE: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(80);

/// Does `work`, a whole transaction from its beginning to its commit, again while it loses races.
///
/// # Errors
/// What the work failed with. Unavailable when its last try lost a race, too: a later call may succeed.
pub async fn retried<T, F, W>(mut work: F) -> Result<T>
where
    F: FnMut() -> W,
    W: Future<Output = Result<T>>,
{
    let mut backoff = Backoff::new(PAUSE, PAUSE_MAX);
    for _ in 1..TRIES_MAX {
        match work().await {
            Err(error @ Error::Store(StoreFault::LostRace(_))) => {
                tracing::debug!(%error, "a transaction begins again");
                tokio::time::sleep(backoff.pause()).await;
            }
            done => return done,
        }
    }
    work().await.map_err(|error| match error {
        Error::Store(StoreFault::LostRace(cause)) => {
            tracing::warn!(error = %format_args!("{cause:#}"), "a transaction lost each race");
            Error::store_unavailable()
        }
        error => error,
    })
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, cell::Cell};

    use super::*;

    /// What PostgreSQL answers, reduced to its SQLSTATE.
    #[derive(Debug)]
    struct Answered(&'static str);

    impl std::fmt::Display for Answered {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Answered {}

    impl sqlx::error::DatabaseError for Answered {
        fn message(&self) -> &str {
            self.0
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(Cow::Borrowed(self.0))
        }

        fn as_error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn std::error::Error + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn std::error::Error + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> sqlx::error::ErrorKind {
            sqlx::error::ErrorKind::Other
        }
    }

    async fn tries(state: &'static str, fails: u32) -> (Result<()>, u32) {
        let count = Cell::new(0);
        let done = retried(async || {
            count.set(count.get() + 1);
            if count.get() > fails {
                return Ok(());
            }
            Err(Error::from(sqlx::Error::Database(Box::new(Answered(state)))))
        })
        .await;
        (done, count.get())
    }

    #[tokio::test]
    async fn a_lost_race_is_run_again_and_nothing_else_is() {
        for (state, fails, tried) in [("40P01", 0, 1), ("40P01", 2, 3), ("40001", 4, 5)] {
            let (done, count) = tries(state, fails).await;
            assert_eq!((done.is_ok(), count), (true, tried), "{state} {fails} times");
        }
        let (given_up, count) = tries("40001", 5).await;
        assert!(given_up.unwrap_err().is_unavailable(), "it gives up");
        assert_eq!(count, 5);
        let (refused, count) = tries("23505", 1).await;
        assert!(!refused.unwrap_err().is_unavailable(), "a violated rule stays one");
        assert_eq!(count, 1);
    }
}
