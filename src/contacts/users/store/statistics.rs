//! Keeps PostgreSQL's statistics on profiles, and what event SDKs send with them, current while a workspace is filled.
//!
//! Autovacuum analyses a table about a minute after many changes. A table that grows from nothing to a hundred
//! thousand rows within that minute is planned as if it were empty, and each array would scan it a thousand
//! times. So this process runs `analyze` itself, each time it has created eight times as many profiles as at
//! the last time.

use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::PgPool;

/// Profiles created before the first `analyze`.
const FIRST: u64 = 256;
/// Growth from one `analyze` to the next.
const GROWTH: u64 = 8;
const ANALYZE: &str = "analyze (skip_locked) users, user_name, identity, profile_call";
/// A tenth of the usual sample: the caller waits for it, and autovacuum takes the whole one later.
const SAMPLE: &str = "set local default_statistics_target = 10";

/// Profiles created by this process.
static CREATED: AtomicU64 = AtomicU64::new(0);

/// Counts created profiles, and runs `analyze` where that is due. A failure only makes queries slower.
pub(in crate::users) async fn record_created(db: &PgPool, by: u64) {
    if by == 0 || !is_due(CREATED.fetch_add(by, Ordering::Relaxed), by) {
        return;
    }
    if let Err(error) = analyze(db).await {
        tracing::warn!(%error, "the tables of profiles could not be analysed");
    }
}

async fn analyze(db: &PgPool) -> sqlx::Result<()> {
    let mut tx = db.begin().await?;
    sqlx::query(SAMPLE).execute(&mut *tx).await?;
    sqlx::query(ANALYZE).execute(&mut *tx).await?;
    tx.commit().await
}

/// Whether growing from `before` by `by` reaches the next threshold.
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
    fn statistics_are_due_at_each_eightfold_growth() {
        assert!(!is_due(0, FIRST - 1));
        assert!(is_due(0, FIRST) && is_due(FIRST - 1, 1));
        assert!(!is_due(FIRST, 1) && !is_due(FIRST, FIRST * 7 - 1));
        assert!(is_due(FIRST, FIRST * 7) && is_due(2, 1_000_000));
        assert!(!is_due(u64::MAX / 2, 1));
        let due = (0..2_000_000).step_by(1000).filter(|before| is_due(*before, 1000)).count();
        assert_eq!(due, 5);
    }
}
