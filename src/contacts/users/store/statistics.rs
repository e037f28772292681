//! What PostgreSQL knows of how many profiles there are.
//!
//! It finds out by itself a minute or so after a table has changed much. A table that goes from nothing to
//! a hundred thousand rows in that minute is planned for as if it were empty, and each array would
//! look through all of it a thousand times. So it is told at once, each time a process has made
//! eight times as many profiles as when it told last.

use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::PgPool;

/// Profiles after which it is told for the first time.
const FIRST: u64 = 256;
/// How many times as many there are each time after.
const GROWTH: u64 = 8;

/// Profiles made by this process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Counts profiles as made, and has them counted where that is due. A failure costs speed alone.
pub(in crate::users) async fn grew(db: &PgPool, by: u64) {
    if by == 0 || !is_due(MADE.fetch_add(by, Ordering::Relaxed), by) {
        return;
    }
    let told = sqlx::query("analyze (skip_locked) users, user_name").execute(db).await;
    if let Err(error) = told {
        tracing::warn!(%error, "the tables of profiles could not be analysed");
    }
}

/// Whether growing from `before` by `by` reaches one of the numbers.
fn is_due(before: u64, by: u64) -> bool {
    let mut at = FIRST;
    while at <= before {
        at = at.saturating_mul(GROWTH);
    }
    at <= before.saturating_add(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_at_each_eightfold() {
        assert!(!is_due(0, FIRST - 1));
        assert!(is_due(0, FIRST) && is_due(FIRST - 1, 1));
        assert!(!is_due(FIRST, 1) && !is_due(FIRST, FIRST * 7 - 1));
        assert!(is_due(FIRST, FIRST * 7) && is_due(2, 1_000_000));
        assert!(!is_due(u64::MAX / 2, 1));
        let told = (0..2_000_000).step_by(1000).filter(|before| is_due(*before, 1000)).count();
        assert_eq!(told, 5);
    }
}
