//! What happened: counters every connection adds to and the progress line reads, and latency histograms.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hdrhistogram::Histogram;
use serde::Serialize;

/// Longest latency resolved, in microseconds; longer ones count as this.
const LATENCY_MAX_US: u64 = 600_000_000;
/// Three significant digits: a latency is right within 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;

#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_MAX_US, SIGNIFICANT_DIGITS);
        Self(histogram.expect("the bounds are constants that fit"))
    }
}

/// The figures of a histogram, milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quantiles {
    pub count: u64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p90_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub max_ms: f64,
}

impl Latencies {
    pub fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(LATENCY_MAX_US);
        self.0.saturating_record(micros.max(1));
    }

    /// Adds all of another's.
    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("both have the same bounds");
    }

    pub fn quantiles(&self) -> Quantiles {
        if self.0.is_empty() {
            return Quantiles::default();
        }
        let at = |quantile| millis(self.0.value_at_quantile(quantile).min(self.0.max()));
        Quantiles {
            count: self.0.len(),
            mean_ms: self.0.mean() / 1_000.0,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: millis(self.0.max()),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most ten minutes in microseconds")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident),+ $(,)?) => {
        /// Running totals of a run.
        #[derive(Debug, Default)]
        pub struct Tally {
            $($(#[doc = $doc])+ pub $name: AtomicU64,)+
            first_error: Mutex<Option<String>>,
        }

        /// The totals at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "camelCase")]
        pub struct Counts {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl Tally {
            pub fn counts(&self) -> Counts {
                Counts { $($name: self.$name.load(Ordering::Relaxed),)+ }
            }
        }
    };
}

counters! {
    /// Requests answered with a 2xx.
    requests,
    /// Events acknowledged for the first time.
    acknowledged,
    /// Events acknowledged again, having been sent again on purpose.
    repeated,
    /// Events the server refused for good.
    refused,
    /// Bytes of acknowledged bodies.
    bytes,
    /// Answers 503, each honoured and sent again.
    unavailable,
    /// Other answers outside 2xx.
    failed,
    /// Connections that broke or could not be made.
    broken,
    /// Events sent whose acknowledgement never came.
    unacknowledged,
}

impl Tally {
    /// Adds to one of the counters.
    pub fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Keeps the first error's text.
    pub fn note(&self, text: impl FnOnce() -> String) {
        let mut first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(text());
        }
    }

    /// The first error's text.
    pub fn first_error(&self) -> Option<String> {
        self.first_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.quantiles(), Quantiles::default());
        for ms in 1..=100 {
            latencies.record(Duration::from_millis(ms));
        }
        let mut slow = Latencies::default();
        slow.record(Duration::from_hours(1));
        latencies.add(&slow);
        let figures = latencies.quantiles();
        assert_eq!(figures.count, 101);
        assert!((figures.p50_ms - 51.0).abs() < 0.1, "{figures:?}");
        assert!((figures.p99_ms - 100.0).abs() < 0.2, "{figures:?}");
        assert!(figures.max_ms >= 599_000.0, "{figures:?}");
    }
}
