//! Whether a process may leave out `FINAL`: see [`crate::repeats`].

use std::{sync::Arc, time::Instant};

use parking_lot::Mutex;

/// Until when all rows are known to be unique.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uniqueness(Arc<Mutex<Option<Instant>>>);

impl Uniqueness {
    pub(crate) fn is_proven(&self) -> bool {
        self.0.lock().is_some_and(|until| Instant::now() < until)
    }

    pub(crate) fn set(&self, until: Option<Instant>) {
        *self.0.lock() = until;
    }
}

/// The statement without `FINAL` of `events` and `orders`.
pub(crate) fn plain(sql: &str) -> String {
    sql.replace("FROM events FINAL", "FROM events").replace("FROM orders FINAL", "FROM orders")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_events_and_orders_are_read_without_final() {
        let sql = "SELECT 1 FROM events FINAL WHERE x IN (SELECT y FROM orders FINAL) AND z IN (SELECT q FROM message_events FINAL)";
        assert_eq!(
            plain(sql),
            "SELECT 1 FROM events WHERE x IN (SELECT y FROM orders) AND z IN (SELECT q FROM message_events FINAL)"
        );
    }

    #[test]
    fn uniqueness_is_believed_for_a_time() {
        let uniqueness = Uniqueness::default();
        assert!(!uniqueness.is_proven());
        uniqueness.set(Some(Instant::now() + Duration::from_mins(1)));
        assert!(uniqueness.is_proven());
        uniqueness.set(Some(Instant::now()));
        assert!(!uniqueness.is_proven());
    }
}
