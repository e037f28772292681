//! Brings filters of landed keys to completeness: from their files, or from the tables.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use landed_keys::{Fill, Filled, Fingerprints, LandedKeys, Need};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::runtime::Handle;
use uuid::Uuid;

use super::{
    super::dead_letters,
    ORDERS,
    stored::{self, EventKey, FillError, WorkspaceOrder},
};
use crate::{columns::Table, model::calendar::partition_month};

/// Pause between two looks for work.
const PAUSE: Duration = Duration::from_millis(50);
/// Pause after work that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

pub(in super::super) struct Upkeep {
    pub keys: Arc<Mutex<LandedKeys>>,
    pub client: clickhouse::Client,
    pub dead_letters_dir: PathBuf,
}

/// What an event's row in a dead letter says about its keys.
#[derive(Deserialize)]
struct LetterRow {
    workspace_id: Uuid,
    event_name: String,
    day: chrono::NaiveDate,
    event_id: String,
    order_id: String,
}

impl LetterRow {
    /// Fingerprints of the keys by which the row is known in a partition: none in that of another month.
    fn fingerprints(&self, partition: u32, fingerprints: Fingerprints) -> Vec<u64> {
        let workspace = self.workspace_id;
        if partition == ORDERS {
            let keys = [format!("order:{}", self.order_id), format!("event:{}", self.event_id)];
            return keys
                .iter()
                .map(|key| fingerprints.of(WorkspaceOrder { workspace, key }))
                .collect();
        }
        let days = (self.day - chrono::NaiveDate::default()).num_days();
        let Ok(day) = u16::try_from(days) else { return Vec::new() };
        let key = EventKey { workspace, name: &self.event_name, day, id: &self.event_id };
        if partition_month(day) == partition { vec![fingerprints.of(key)] } else { Vec::new() }
    }
}

impl Upkeep {
    /// Does what partitions need, one job after the other, until it is dropped.
    pub(in super::super) async fn run(self) {
        loop {
            let need = self.keys.lock().needs();
            let is_done = match need {
                None => true,
                Some(Need::Fill(partition)) => self.fill(partition).await,
                Some(Need::Load(partition)) => self.load(partition).await,
            };
            publish(&self.keys);
            tokio::time::sleep(if is_done { PAUSE } else { RETRY_PAUSE }).await;
        }
    }

    async fn fill(&self, partition: u32) -> bool {
        let began = std::time::Instant::now();
        let begun = {
            let mut keys = self.keys.lock();
            keys.begin_fill(partition).map(|fill| (fill, keys.fingerprints()))
        };
        let filled = match begun {
            Ok((fill, fingerprints)) => self.filled(partition, fill, fingerprints).await,
            Err(error) => Err(error.into()),
        };
        let (filled, failed) = match filled {
            Ok(filled) => (Some(filled), None),
            Err(error) => (None, Some(error)),
        };
        let ended = self.keys.lock().end_fill(partition, filled);
        let failed = failed.or(ended.err().map(FillError::from));
        match failed {
            None => {
                let seconds = began.elapsed().as_secs_f64();
                tracing::info!(
                    partition,
                    seconds,
                    "the keys of stored events were read from ClickHouse"
                );
                true
            }
            Some(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(partition, %error, cause, "the keys of stored events were not read, trying again");
                false
            }
        }
    }

    async fn filled(
        &self,
        partition: u32,
        mut fill: Fill,
        fingerprints: Fingerprints,
    ) -> Result<Filled, FillError> {
        let (client, runtime) = (self.client.clone(), Handle::current());
        let dead_letters_dir = self.dead_letters_dir.clone();
        let work = move || {
            // A dead letter may be inserted later, by another process.
            for key in dead_letter_keys(&dead_letters_dir, partition, fingerprints)? {
                fill.push(key)?;
            }
            let push = |fingerprint| fill.push(fingerprint);
            runtime.block_on(stored::for_each_fingerprint(
                &client,
                partition,
                fingerprints,
                push,
            ))?;
            Ok(fill.finish()?)
        };
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error).into()))
    }

    async fn load(&self, partition: u32) -> bool {
        let load = self.keys.lock().begin_load(partition);
        let loaded = tokio::task::spawn_blocking(move || load.run())
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        let ended = self.keys.lock().end_load(partition, loaded);
        if let Err(error) = &ended {
            tracing::warn!(partition, %error, "a file of stored keys was not opened, trying again");
        }
        ended.is_ok()
    }
}

/// Fingerprints of the keys of rows that ClickHouse refused.
fn dead_letter_keys(
    dir: &Path,
    partition: u32,
    fingerprints: Fingerprints,
) -> io::Result<Vec<u64>> {
    let letters = dead_letters::list(dir)?;
    let rows = letters.iter().filter(|letter| letter.table == Table::Events);
    let rows = rows.filter_map(|letter| letter.row.as_ref());
    let mut keys = Vec::new();
    for row in rows {
        let row: LetterRow = serde_json::from_str(row.get())?;
        keys.extend(row.fingerprints(partition, fingerprints));
    }
    Ok(keys)
}

fn publish(keys: &Mutex<LandedKeys>) {
    let figures = keys.lock().figures();
    #[expect(clippy::cast_precision_loss, reason = "bytes and counts of a gauge")]
    let (bytes, without_filter) = (figures.memory_bytes as f64, figures.without_filter as f64);
    metrics_catalogue::INGEST_LANDED_KEYS_BYTES.set(bytes);
    metrics_catalogue::INGEST_LANDED_KEYS_WITHOUT_FILTER.set(without_filter);
}
