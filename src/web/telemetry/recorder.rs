//! Collects metrics of this process and renders them for Prometheus.

use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;
use parking_lot::Mutex;

/// Buckets of durations: from a fast fsync to a request that is about to time out.
pub const DURATION_SECONDS_BUCKETS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 30.0,
];

/// Interval at which histograms are folded into their buckets, so that memory stays bounded between scrapes.
pub const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Renders the recorded metrics. One per process, even with several servers in it.
#[derive(Clone)]
pub struct Recorder {
    handle: PrometheusHandle,
    process: Collector,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    /// Installs the recorder of this process, or returns the one installed before.
    pub fn install() -> anyhow::Result<Self> {
        // Held while it is installed: of two servers that start at once the second waits.
        static INSTALLED: Mutex<Option<Recorder>> = Mutex::new(None);
        let mut installed = INSTALLED.lock();
        if let Some(recorder) = &*installed {
            return Ok(recorder.clone());
        }
        let handle = PrometheusBuilder::new()
            .set_buckets_for_metric(
                Matcher::Suffix("_seconds".to_owned()),
                DURATION_SECONDS_BUCKETS,
            )?
            .install_recorder()?;
        metrics_catalogue::describe();
        let process = Collector::default();
        process.describe();
        Ok(installed.insert(Self { handle, process }).clone())
    }

    /// The Prometheus text of every metric, including process metrics.
    pub fn render(&self) -> String {
        self.process.collect();
        self.handle.render()
    }

    /// Folds recorded values into buckets; call every [`UPKEEP_INTERVAL`].
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}
