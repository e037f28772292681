//! The memory all request bodies may take together. Nobody waits for it: a body that finds none
//! left is answered 503 and comes back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use metrics::Gauge;
use tokio::sync::Semaphore;

use crate::kernel::Error;

/// When a refused body should come back.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Longest wait for the next bytes of a body.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// Longest time a body may take as a whole.
const ARRIVAL_MAX: Duration = Duration::from_mins(2);
/// Large bodies inflated at the same time; each needs a decoder's window beside its bytes.
const INFLATIONS_MAX: usize = 4;

/// A share in the memory for bodies, and how long a body may take. Cloned freely.
#[derive(Debug, Clone)]
pub struct BodyBudget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
    used_gauge: Gauge,
    silence_max: Duration,
    arrival_max: Duration,
    inflations: Semaphore,
}

impl BodyBudget {
    /// Room for this many bytes of bodies in flight.
    pub fn new(limit_bytes: usize) -> Self {
        Self::with_timeouts(limit_bytes, SILENCE_MAX, ARRIVAL_MAX)
    }

    /// Likewise, with a longest silence inside a body and a longest arrival of one.
    pub fn with_timeouts(limit_bytes: usize, silence_max: Duration, arrival_max: Duration) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a double")]
        metrics::gauge!("http_body_limit_bytes").set(limit_bytes as f64);
        Self(Arc::new(Inner {
            limit_bytes,
            used_bytes: AtomicUsize::new(0),
            used_gauge: metrics::gauge!("http_body_used_bytes"),
            silence_max,
            arrival_max,
            inflations: Semaphore::new(INFLATIONS_MAX),
        }))
    }

    /// Bytes in use.
    pub fn used_bytes(&self) -> usize {
        self.0.used_bytes.load(Ordering::Acquire)
    }

    pub(super) fn hold(&self) -> Held {
        Held { budget: self.clone(), bytes: 0 }
    }

    pub(super) fn silence_max(&self) -> Duration {
        self.0.silence_max
    }

    pub(super) fn arrival_max(&self) -> Duration {
        self.0.arrival_max
    }

    pub(super) fn inflations(&self) -> &Semaphore {
        &self.0.inflations
    }
}

/// Bytes taken out of a [`BodyBudget`]; given back when dropped.
#[derive(Debug)]
pub struct Held {
    budget: BodyBudget,
    bytes: usize,
}

impl Held {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `bytes` more, or none when they do not fit.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        let inner = &self.budget.0;
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= inner.limit_bytes);
        inner.used_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).map_err(|_| {
            Error::Unavailable {
                what: "Too many request bodies are in flight",
                retry_after: Some(RETRY_AFTER),
            }
        })?;
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a double")]
        inner.used_gauge.increment(bytes as f64);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let inner = &self.budget.0;
        let before = inner.used_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        debug_assert!(before >= self.bytes, "gave back more than was taken");
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a double")]
        inner.used_gauge.decrement(self.bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_what_is_dropped_is_given_back() {
        let budget = BodyBudget::new(100);
        let mut first = budget.hold();
        first.grow(60).unwrap();
        let mut second = budget.hold();
        assert!(matches!(second.grow(41), Err(Error::Unavailable { .. })));
        assert_eq!(second.bytes(), 0);
        second.grow(40).unwrap();
        drop(first);
        assert_eq!(budget.used_bytes(), 40);
        drop(second);
        assert_eq!(budget.used_bytes(), 0);
        assert!(budget.hold().grow(usize::MAX).is_err());
    }

    #[test]
    fn many_threads_never_take_more_than_there_is() {
        let budget = BodyBudget::new(1_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let mut held = budget.hold();
                        let _ = held.grow(400);
                        assert!(budget.used_bytes() <= 1_000);
                    }
                });
            }
        });
        assert_eq!(budget.used_bytes(), 0);
    }
}
