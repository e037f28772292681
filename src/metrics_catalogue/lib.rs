//! The metrics of the service: a typed catalogue, and the only way to record one.
//!
//! A metric is a constant of [`catalogue`](METRICS): its kind is its type and the number of its labels is checked at compile
//! time. `HTTP_REQUESTS.with([route, method, status]).increment(1)` needs no name and can misspell none. The macros of the
//! crate `metrics` are disallowed elsewhere (`clippy.toml`).

#![warn(missing_docs)]
#![allow(
    clippy::disallowed_macros,
    reason = "the one place that calls the macros of the crate `metrics`"
)]

mod catalogue;

use metrics::{IntoF64, Label, SharedString, Unit};

pub use catalogue::*;
/// Handles of registered metrics; a hot path keeps one instead of looking it up each time.
pub mod handle {
    pub use metrics::{Counter, Gauge, Histogram};
}

/// How a metric moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A count that only grows.
    Counter,
    /// A value that goes up and down.
    Gauge,
    /// A distribution, in buckets.
    Histogram,
}

impl Kind {
    /// The kind as Prometheus names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The description of a metric, for documents and `/metrics`.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name as scraped, labels excluded.
    pub name: &'static str,
    /// Whether it is a counter, a gauge or a histogram.
    pub kind: Kind,
    /// Unit of its values; base units only.
    pub unit: Unit,
    /// Names of its labels, in the order in which `with` takes their values.
    pub labels: &'static [&'static str],
    /// One line for a reader of `/metrics`.
    pub help: &'static str,
}

fn labels<const N: usize, V: Into<SharedString>>(
    names: [&'static str; N],
    values: [V; N],
) -> Vec<Label> {
    names.into_iter().zip(values).map(|(name, value)| Label::new(name, value)).collect()
}

/// Declares the type of one kind of metric, with `N` labels.
macro_rules! kind {
    ($(#[$doc:meta])* $kind:ident, $macro:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $kind<const N: usize = 0> {
            name: &'static str,
            labels: [&'static str; N],
        }

        impl<const N: usize> $kind<N> {
            const fn new(name: &'static str, labels: [&'static str; N]) -> Self {
                Self { name, labels }
            }

            /// The series with these label values, in the order of [`Metric::labels`]. Values come from closed sets.
            pub fn with<V: Into<SharedString>>(&self, values: [V; N]) -> handle::$kind {
                metrics::$macro!(self.name, labels(self.labels, values))
            }
        }

        impl $kind {
            /// The one series of a metric without labels.
            pub fn handle(&self) -> handle::$kind {
                metrics::$macro!(self.name)
            }
        }
    };
}

kind! {
    /// A count that only grows, with `N` labels.
    Counter, counter
}
kind! {
    /// A value that goes up and down, with `N` labels.
    Gauge, gauge
}
kind! {
    /// A distribution of values, with `N` labels.
    Histogram, histogram
}

impl Counter {
    /// Adds to the one series of a counter without labels.
    pub fn increment(&self, by: u64) {
        self.handle().increment(by);
    }
}

impl Gauge {
    /// Sets the one series of a gauge without labels.
    pub fn set(&self, value: f64) {
        self.handle().set(value);
    }
}

impl Histogram {
    /// Records one value in the one series of a histogram without labels.
    pub fn record(&self, value: impl IntoF64) {
        self.handle().record(value);
    }
}

/// Gives the installed recorder the unit and help of every metric.
pub fn describe() {
    for metric in METRICS {
        match metric.kind {
            Kind::Counter => metrics::describe_counter!(metric.name, metric.unit, metric.help),
            Kind::Gauge => metrics::describe_gauge!(metric.name, metric.unit, metric.help),
            Kind::Histogram => metrics::describe_histogram!(metric.name, metric.unit, metric.help),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_follow_the_rules_of_prometheus() {
        let mut seen = HashSet::new();
        for metric in METRICS {
            assert!(seen.insert(metric.name), "{} is listed twice", metric.name);
            assert!(metric.name.starts_with("millrace_"), "{}", metric.name);
            assert!(
                metric.name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_'),
                "{}",
                metric.name
            );
            assert_eq!(
                metric.kind == Kind::Counter,
                metric.name.ends_with("_total"),
                "{}",
                metric.name
            );
            let stem = metric.name.trim_end_matches("_total");
            assert_eq!(metric.unit == Unit::Seconds, stem.ends_with("_seconds"), "{}", metric.name);
            assert_eq!(metric.unit == Unit::Bytes, stem.ends_with("_bytes"), "{}", metric.name);
            let unique: HashSet<_> = metric.labels.iter().collect();
            assert_eq!(unique.len(), metric.labels.len(), "{}", metric.name);
        }
    }
}
