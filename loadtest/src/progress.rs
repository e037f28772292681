//! The live line while load runs.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{load::Counts, report, scrape::Sample};

/// The line is written this often.
pub const REFRESH: Duration = Duration::from_millis(250);

/// One line on stderr: rates of the last moments, totals, backlog.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    last: (Instant, Counts),
}

impl Progress {
    /// A line for a run of `events` in all, where that is known.
    pub fn new(events: Option<u64>) -> Self {
        let (bar, template) = match events {
            Some(events) => {
                (ProgressBar::new(events), "{elapsed_precise} {bar:24} {pos}/{len} {msg}")
            }
            None => (ProgressBar::new_spinner(), "{elapsed_precise} {spinner} {pos} {msg}"),
        };
        let style = ProgressStyle::with_template(template).expect("the template is a constant");
        bar.set_style(style);
        Self { bar, last: (Instant::now(), Counts::default()) }
    }

    /// Shows the totals and the last scrape.
    pub fn show(&mut self, counts: Counts, sample: Option<Sample>) {
        let (then, before) = self.last;
        let seconds = then.elapsed().as_secs_f64().max(1e-3);
        let per_second = |now: u64, before: u64| as_f64(now.saturating_sub(before)) / seconds;
        let events = per_second(
            counts.acknowledged + counts.repeated,
            before.acknowledged + before.repeated,
        );
        let megabytes = per_second(counts.bytes, before.bytes) / 1e6;
        let mut parts = vec![
            format!("{} ev/s", report::rate(events)),
            format!("{megabytes:.0} MB/s"),
            format!("{} acks", counts.requests),
        ];
        for (label, count) in [
            ("503", counts.unavailable),
            ("errors", counts.failed + counts.broken),
            ("refused", counts.refused),
        ] {
            if count > 0 {
                parts.push(format!("{count} {label}"));
            }
        }
        if let Some(backlog) = sample.and_then(|sample| sample.backlog()) {
            parts.push(format!("backlog {}", report::rate(backlog)));
        }
        self.bar.set_position(counts.acknowledged);
        self.bar.set_message(parts.join("  "));
        self.last = (Instant::now(), counts);
    }

    /// Says what is waited for once the load has ended.
    pub fn waiting(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
