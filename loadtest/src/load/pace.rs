//! When each request is due, decided before any of them is sent.
//!
//! At a given rate request *k* is due at `start + k / rate`, whatever the server does; a request that has to wait
//! for a free connection is late, and its latency counts from when it was due. That is what keeps a stalled server
//! from hiding the requests it kept from being sent ("coordinated omission", Gil Tene).

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// The schedule of a run, shared by its connections.
#[derive(Debug)]
pub struct Pace {
    start: Instant,
    requests_per_second: Option<f64>,
    duration: Option<Duration>,
    taken: AtomicU64,
    stopped: AtomicBool,
}

/// The right to send one request.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// Zero-based number of the request.
    pub number: u64,
    /// When it is due; `None` when as soon as possible.
    pub due: Option<Instant>,
}

impl Pace {
    /// A schedule from `start` on: at a rate or flat out, for a time or without end.
    pub fn new(
        start: Instant,
        requests_per_second: Option<f64>,
        duration: Option<Duration>,
    ) -> Self {
        let (taken, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { start, requests_per_second, duration, taken, stopped }
    }

    /// The next request; `None` when the time is up or the run was stopped.
    pub fn take(&self, now: Instant) -> Option<Ticket> {
        if self.stopped() {
            return None;
        }
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        let due = self.requests_per_second.map(|rate| self.start + offset(number, rate));
        let when = due.unwrap_or(now);
        let over = self.duration.is_some_and(|duration| when >= self.start + duration);
        (!over).then_some(Ticket { number, due })
    }

    /// Ends the run: no further ticket is given.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the run was ended.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^52 requests are more than any run sends")]
fn offset(number: u64, rate: f64) -> Duration {
    Duration::from_secs_f64(number as f64 / rate)
}

impl Ticket {
    /// From when the request was due (flat out: from when it was sent) to when it was answered.
    pub fn latency(&self, sent: Instant, answered: Instant) -> Duration {
        answered.saturating_duration_since(self.due.unwrap_or(sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_evenly_however_late_they_are_taken() {
        let start = Instant::now();
        let pace = Pace::new(start, Some(100.0), Some(Duration::from_millis(25)));
        let late = start + Duration::from_secs(9);
        let dues: Vec<_> = std::iter::from_fn(|| pace.take(late))
            .map(|ticket| ticket.due.unwrap() - start)
            .collect();
        assert_eq!(dues, [0, 10, 20].map(Duration::from_millis));
    }

    #[test]
    fn latency_counts_from_the_due_time_and_flat_out_from_the_sending() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let paced = Ticket { number: 0, due: Some(at(10)) };
        assert_eq!(paced.latency(at(400), at(410)), Duration::from_millis(400));
        let free = Ticket { number: 0, due: None };
        assert_eq!(free.latency(at(400), at(410)), Duration::from_millis(10));
    }

    #[test]
    fn flat_out_ends_with_the_clock_and_a_stop_ends_either() {
        let start = Instant::now();
        let pace = Pace::new(start, None, Some(Duration::from_secs(1)));
        assert!(pace.take(start).is_some());
        assert!(pace.take(start + Duration::from_secs(1)).is_none());
        let endless = Pace::new(start, None, None);
        endless.stop();
        assert!(endless.take(start).is_none());
    }
}
