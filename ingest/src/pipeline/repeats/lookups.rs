//! Questions to ClickHouse on the way of a chunk.

use std::{sync::Arc, time::Duration};

use clickhouse::{Client, error::Error};
use supervisor::{Backoff, Heartbeat};
use tokio::runtime::Handle;

use super::super::{Flow, metrics::PipelineMetrics};

/// Longest wait for an answer of ClickHouse.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);
/// Longest sleep before the flags are looked at again.
const SLEEP_MAX: Duration = Duration::from_millis(100);
/// Every how many failed tries there is a line in the log.
const TRIES_PER_LOG: u32 = 20;

/// The run is over before the answer is there.
pub(in super::super) struct Interrupted;

/// Asks ClickHouse from the thread that gathers.
pub(in super::super) struct Lookups {
    pub client: Client,
    pub runtime: Handle,
    pub flow: Arc<Flow>,
    pub heartbeat: Heartbeat,
    pub metrics: PipelineMetrics,
}

impl Lookups {
    /// Asks ClickHouse until it answers.
    pub(super) fn ask<T>(
        &self,
        question: &impl AsyncFn(&Client) -> Result<T, Error>,
    ) -> Result<T, Interrupted> {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        loop {
            let answer = async {
                tokio::time::timeout(ANSWER_TIMEOUT, question(&self.client))
                    .await
                    .unwrap_or(Err(Error::TimedOut))
            };
            match self.runtime.block_on(self.heartbeat.waiting(answer)) {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    self.metrics.error("lookup");
                    if backoff.attempts().is_multiple_of(TRIES_PER_LOG) {
                        tracing::warn!(%error, "keys were not looked up, trying again");
                    }
                    self.sleep(backoff.pause())?;
                }
            }
        }
    }

    fn sleep(&self, pause: Duration) -> Result<(), Interrupted> {
        let mut left = pause;
        while !left.is_zero() {
            self.check()?;
            let piece = left.min(SLEEP_MAX);
            std::thread::sleep(piece);
            left -= piece;
        }
        self.check()
    }

    pub(super) fn check(&self) -> Result<(), Interrupted> {
        self.heartbeat.beat();
        if self.flow.is_over() { Err(Interrupted) } else { Ok(()) }
    }
}
