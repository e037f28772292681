//! What the histograms of this process counted in the last minutes.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Mutex;

use crate::process_metrics::Metrics;

/// How far back distributions go, where pages were read all the time.
const WINDOW: Duration = Duration::from_mins(5);
/// Least time between two looks that are kept.
const INTERVAL: Duration = Duration::from_secs(30);
/// How long a measurement is shown again: rendering and reading every metric takes too long for each look at a page.
const SHARED: Duration = Duration::from_secs(1);

/// The metrics of the process.
#[derive(Debug)]
pub struct Measured {
    /// All of them, since the process started.
    pub total: Metrics,
    /// Histograms of the last [`window`](Self::window).
    pub recent: Metrics,
    /// How far back they go; none where that is the start of the process.
    pub window: Option<Duration>,
}

/// The measurements of the process, at most one a second however many people look at pages. While one is made
/// the others wait without holding a thread: the acknowledgement of events needs those.
#[derive(Debug, Default)]
pub struct Measurements(Mutex<Looks>);

#[derive(Debug, Default)]
struct Looks {
    earlier: EarlierHistograms,
    latest: Option<Latest>,
}

#[derive(Debug)]
struct Latest {
    at: Instant,
    measured: Arc<Measured>,
}

impl Measurements {
    /// The measurement of now, or of less than a second ago; `read` reads the metrics.
    pub async fn measure(
        &self,
        now: Instant,
        read: impl FnOnce() -> Metrics + Send,
    ) -> Arc<Measured> {
        let mut looks = self.0.lock().await;
        if let Some(latest) = &looks.latest
            && now.saturating_duration_since(latest.at) < SHARED
        {
            return Arc::clone(&latest.measured);
        }
        let measured = Arc::new(looks.earlier.measure(read(), now));
        looks.latest = Some(Latest { at: now, measured: Arc::clone(&measured) });
        measured
    }
}

/// Histograms at earlier looks, at most as many as the window has intervals.
#[derive(Debug, Default)]
struct EarlierHistograms(VecDeque<Earlier>);

#[derive(Debug)]
struct Earlier {
    at: Instant,
    histograms: Metrics,
}

impl EarlierHistograms {
    /// What was counted since the look that is a window old, or since the next where that is much older.
    fn measure(&mut self, total: Metrics, now: Instant) -> Measured {
        let looks = &mut self.0;
        let age = |look: &Earlier| now.saturating_duration_since(look.at);
        while let (Some(first), Some(second)) = (looks.front(), looks.get(1)) {
            // After a time without looks, those of before it are too old as soon as there is another.
            let is_stale = age(first) >= WINDOW * 2 && age(second) >= INTERVAL;
            if !is_stale && age(second) < WINDOW {
                break;
            }
            looks.pop_front();
        }
        let first = looks.front();
        let window = first.map(age);
        let recent = match first {
            Some(first) => total.histograms().since(&first.histograms),
            None => total.histograms(),
        };
        if looks.back().is_none_or(|last| age(last) >= INTERVAL) {
            looks.push_back(Earlier { at: now, histograms: total.histograms() });
        }
        Measured { total, recent, window }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn metrics(fast: u32, slow: u32) -> Metrics {
        let all = fast + slow;
        Metrics::parse(&format!(
            "d_bucket{{le=\"0.1\"}} {fast}\nd_bucket{{le=\"+Inf\"}} {all}\nd_count {all}\nother 7\n"
        ))
    }

    #[test]
    fn distributions_are_of_the_window() {
        let mut history = EarlierHistograms::default();
        let start = Instant::now();
        // Seconds since the start, values so far, those of the window, and how long that is.
        for (at_s, values, expected, window_s) in [
            (0, (0, 100), Some(100), None),
            (10, (10, 100), Some(10), Some(10)),
            (30, (20, 100), Some(20), Some(30)),
            (290, (30, 100), Some(30), Some(290)),
            // The look at 30 s is a window old, those before it older.
            (330, (50, 100), Some(30), Some(300)),
            (340, (50, 100), Some(30), Some(310)),
            // After an hour without a look the last one that was kept counts.
            (3_930, (50, 100), None, Some(3_600)),
            (3_950, (60, 100), Some(10), Some(3_620)),
            // It is of little use as soon as there is a newer one.
            (3_960, (70, 100), Some(20), Some(30)),
            (4_230, (80, 100), Some(30), Some(300)),
        ] {
            let now = start + Duration::from_secs(at_s);
            let measured = history.measure(metrics(values.0, values.1), now);
            let found = measured.recent.durations("d");
            assert_eq!(found.map(|it| it.count), expected, "{at_s}");
            assert_eq!(measured.window, window_s.map(Duration::from_secs), "{at_s}");
            assert_eq!(measured.total.sum("other"), Some(7.0));
            assert_eq!(measured.recent.sum("other"), None);
        }
    }

    #[test]
    fn looks_are_few_however_often_pages_are_read() {
        let mut history = EarlierHistograms::default();
        let start = Instant::now();
        for second in 0..3_600 {
            history.measure(metrics(1, 1), start + Duration::from_secs(second));
        }
        assert!(history.0.len() <= 12);
    }

    #[tokio::test]
    async fn looks_of_one_second_share_a_measurement() {
        let measurements = Measurements::default();
        let start = Instant::now();
        let mut reads = 0;
        for (at_ms, expected) in
            [(0, 1), (10, 1), (999, 1), (1_000, 2), (1_500, 2), (1_999, 2), (2_000, 3), (9_000, 4)]
        {
            let read = || {
                reads += 1;
                Metrics::parse(&format!("reads {reads}\n"))
            };
            let measured = measurements.measure(start + Duration::from_millis(at_ms), read).await;
            assert_eq!(measured.total.sum("reads"), Some(f64::from(expected)), "{at_ms}");
        }
        assert_eq!(reads, 4);
    }

    #[tokio::test]
    async fn a_look_while_another_is_made_waits_without_its_thread() {
        let (measurements, now) = (Measurements::default(), Instant::now());
        let being_made = measurements.0.lock().await;
        let mut look = Box::pin(measurements.measure(now, || metrics(1, 1)));
        assert!(look.as_mut().now_or_never().is_none());
        drop(being_made);
        assert_eq!(look.await.total.sum("other"), Some(7.0));
    }
}
