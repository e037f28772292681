//! Who waits for which event, as of a moment ago.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use campaigns::model::CampaignKey;
use ingest::record::Batch;
use kernel::{Result, Timestamp};
use uuid::Uuid;

use crate::{
    DeliveryState,
    triggers::model::{Occurred, Waiting},
};

/// Campaigns read at one time.
const PAGE: usize = 100;

/// The campaigns that events set off, and the events, in order.
pub(super) type SetOff = BTreeMap<(Uuid, Uuid), (Arc<Waiting>, Vec<Arc<Occurred>>)>;

/// Who waits for which event.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    /// The revisions that were read; also of campaigns that turned out to wait for nothing.
    read: HashMap<CampaignKey, i64>,
    waiting: HashMap<CampaignKey, Arc<Waiting>>,
    by_event: HashMap<Uuid, HashMap<String, Vec<Arc<Waiting>>>>,
    /// It was read at least once.
    is_known: bool,
}

impl Catalogue {
    /// Brings it up to date: one small question, and what changed.
    pub(super) async fn refresh(&mut self, app: &DeliveryState) -> Result<()> {
        let active: HashMap<CampaignKey, i64> =
            campaigns::ops::active_triggered(app).await?.into_iter().collect();
        let changed: Vec<CampaignKey> = active
            .iter()
            .filter(|(key, revision)| self.read.get(key) != Some(revision))
            .map(|(key, _)| *key)
            .collect();
        if changed.is_empty() && active.len() == self.read.len() {
            self.is_known = true;
            return Ok(());
        }
        let mut fresh = Vec::new();
        for page in changed.chunks(PAGE) {
            fresh.extend(campaigns::ops::triggered_campaigns(app, page).await?);
        }
        self.read.retain(|key, _| active.contains_key(key));
        self.waiting.retain(|key, _| active.contains_key(key));
        for key in changed {
            self.read.insert(key, active[&key]);
            self.waiting.remove(&key);
        }
        for campaign in fresh {
            let key = CampaignKey { workspace: campaign.workspace, id: campaign.id };
            self.read.insert(key, campaign.revision);
            if let Some(waiting) = Waiting::of(campaign) {
                self.waiting.insert(key, Arc::new(waiting));
            }
        }
        self.index();
        self.is_known = true;
        Ok(())
    }

    /// Whether it was read at least once.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Whether no campaign waited for an event when it was last read.
    pub(super) fn is_known_empty(&self) -> bool {
        self.is_known && self.waiting.is_empty()
    }

    fn index(&mut self) {
        self.by_event.clear();
        for waiting in self.waiting.values() {
            self.by_event
                .entry(waiting.workspace.uuid())
                .or_default()
                .entry(waiting.config.event_name.clone())
                .or_default()
                .push(Arc::clone(waiting));
        }
    }

    /// Adds what the events of a batch set off. A batch of a workspace in which nobody waits is not
    /// looked into.
    pub(super) fn look_into(&self, payload: &Bytes, set_off: &mut SetOff) {
        // What cannot be read is the ClickHouse writer's to keep and to report.
        let Ok(header) = Batch::header_of(payload) else { return };
        let Some(names) = self.by_event.get(&header.workspace_id) else { return };
        let Ok(batch) = Batch::from_bytes(payload.clone()) else { return };
        let received = Timestamp::from_millis(header.received_at_ms);
        for event in batch.events() {
            // Anybody can send what comes with a public key: it sets off what is trusted alone.
            if event.is_untrusted {
                continue;
            }
            let Some(waiting) = names.get(event.event_name) else { continue };
            let happened = Timestamp::from_millis(event.timestamp_ms);
            let active = waiting.iter().filter(|one| one.was_active(received, happened));
            let mut active = active.peekable();
            if active.peek().is_none() {
                continue;
            }
            let occurred = match Occurred::of(&header, &event) {
                Ok(occurred) => Arc::new(occurred),
                Err(error) => {
                    tracing::error!(%error, "an event's properties cannot be read, it sets nothing off");
                    metrics_catalogue::TRIGGER_FAULTS.with(["event"]).increment(1);
                    continue;
                }
            };
            for one in active.filter(|one| one.holds_of(&occurred)) {
                let key = (one.workspace.uuid(), one.id.uuid());
                let (_, events) =
                    set_off.entry(key).or_insert_with(|| (Arc::clone(one), Vec::new()));
                events.push(Arc::clone(&occurred));
            }
        }
    }
}
