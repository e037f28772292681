//! How long after its acknowledgement an event is seen by a reader: marker events, sent on a schedule of their own.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use tokio::time;

use crate::{
    api::Api,
    clock,
    http::Parameter,
    journal::{Journal, Mark},
    load::{Latencies, Pace},
};

/// A marker is sent this often.
const MARKER_INTERVAL: Duration = Duration::from_millis(100);
/// Pause between two looks; the lag is measured no finer.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// How long the last markers are waited for once the load has ended.
const PATIENCE: Duration = Duration::from_secs(15);
/// Name of marker events.
pub const MARKER_EVENT: &str = "Loadtest Marker";

/// What the probe saw.
#[derive(Debug, Default)]
pub struct Visibility {
    /// From the acknowledgement to the first answer that holds the event.
    pub lag: Latencies,
    /// Markers acknowledged and not seen in time.
    pub unseen: u64,
    pub looks: u64,
}

/// Sends markers and looks for them until `pace` is stopped, then waits for the rest.
#[derive(Debug)]
pub struct Probe {
    sender: Api,
    reader: Api,
    user: String,
    journal: Option<Arc<Journal>>,
}

struct Marker {
    needle: Vec<u8>,
    acknowledged: Instant,
}

impl Probe {
    /// A probe with two connections of its own; `run` keeps its events apart from other runs'.
    pub fn new(sender: Api, reader: Api, run: &str, journal: Option<Arc<Journal>>) -> Self {
        Self { sender, reader, user: format!("loadtest-marker-{run}"), journal }
    }

    /// Runs until the load has ended and the last marker was seen or given up.
    ///
    /// # Errors
    /// A server that does not answer.
    pub async fn run(mut self, pace: Arc<Pace>) -> Result<Visibility> {
        let mut seen = Visibility::default();
        let mut waiting: VecDeque<Marker> = VecDeque::new();
        let mut next = Instant::now();
        let mut number = 0_u64;
        let mut deadline = None;
        loop {
            let now = Instant::now();
            if pace.stopped() {
                let deadline = *deadline.get_or_insert(now + PATIENCE);
                if waiting.is_empty() || now > deadline {
                    seen.unseen = waiting.len() as u64;
                    return Ok(seen);
                }
            } else if now >= next {
                waiting.push_back(self.mark(number).await?);
                number += 1;
                next += MARKER_INTERVAL;
            }
            if !waiting.is_empty() {
                self.look(&mut waiting, &mut seen).await?;
            }
            time::sleep(LOOK_PAUSE).await;
        }
    }

    /// Sends one marker and waits for its acknowledgement.
    async fn mark(&mut self, number: u64) -> Result<Marker> {
        let id = format!("{}-{number}", self.user);
        let sent = clock::rfc3339(clock::now_ms());
        let body = serde_json::json!({
            "userId": self.user, "eventName": MARKER_EVENT, "clientEventId": id, "timestamp": sent,
        });
        let ids = std::slice::from_ref(&id);
        if let Some(journal) = &self.journal {
            journal.record_ids(Mark::Sent, ids)?;
        }
        loop {
            let answer = self
                .sender
                .track(Bytes::from(body.to_string()))
                .await
                .context("the marker failed")?;
            match answer.status {
                200..300 => break,
                503 => time::sleep(answer.retry_after.unwrap_or(MARKER_INTERVAL)).await,
                status => bail!("a marker event was answered {status}"),
            }
        }
        if let Some(journal) = &self.journal {
            journal.record_ids(Mark::Acknowledged, ids)?;
        }
        let needle = format!("\"event_id\":\"{id}\"").into_bytes();
        Ok(Marker { needle, acknowledged: Instant::now() })
    }

    /// Asks for the newest markers and crosses off those in the answer.
    async fn look(&mut self, waiting: &mut VecDeque<Marker>, seen: &mut Visibility) -> Result<()> {
        // Twice as many as are waiting: markers become visible out of order at most by a batch.
        let limit = (waiting.len() * 2 + 5).min(1_000).to_string();
        let parameters = [
            Parameter::new("userId", &self.user),
            Parameter::new("eventName", MARKER_EVENT),
            Parameter::new("limit", &limit),
        ];
        let answer = self.reader.query_raw(&parameters).await?;
        let now = Instant::now();
        seen.looks += 1;
        waiting.retain(|marker| {
            let found = answer.windows(marker.needle.len()).any(|window| window == marker.needle);
            if found {
                seen.lag.record(now.saturating_duration_since(marker.acknowledged));
            }
            !found
        });
        Ok(())
    }
}
