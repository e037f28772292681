//! Live triggers by event name, refreshed before each batch.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use campaigns::model::CampaignKey;
use ingest::record::Batch;
use kernel::{Result, Timestamp, WorkspaceId};
use uuid::Uuid;

use crate::{
    DeliveryState,
    triggers::model::{LiveTrigger, TriggerEvent},
};

/// Campaigns read at one time.
const PAGE: usize = 100;

/// What live triggers matched, in the order of their campaigns.
pub(super) type Matches = BTreeMap<CampaignKey, TriggerMatches>;

/// The events that a live trigger matched, in order.
#[derive(Debug)]
pub(super) struct TriggerMatches {
    pub(super) trigger: Arc<LiveTrigger>,
    pub(super) events: Vec<Arc<TriggerEvent>>,
}

/// Live triggers by event name.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    /// The revisions that were read, also of campaigns without a usable trigger.
    read: HashMap<CampaignKey, i64>,
    trigger: HashMap<CampaignKey, Arc<LiveTrigger>>,
    by_event: HashMap<Uuid, HashMap<String, Vec<Arc<LiveTrigger>>>>,
    /// It was read at least once.
    is_known: bool,
}

impl Catalogue {
    /// Reads the revisions of active campaigns, and the campaigns that changed.
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
        self.trigger.retain(|key, _| active.contains_key(key));
        for key in changed {
            self.read.insert(key, active[&key]);
            self.trigger.remove(&key);
        }
        for campaign in fresh {
            let key = CampaignKey { workspace: campaign.workspace, id: campaign.id };
            self.read.insert(key, campaign.revision);
            if let Some(trigger) = LiveTrigger::of(campaign) {
                self.trigger.insert(key, Arc::new(trigger));
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

    /// Whether there was no live trigger when it was last read.
    pub(super) fn is_known_empty(&self) -> bool {
        self.is_known && self.trigger.is_empty()
    }

    /// Whether a workspace had a live trigger when it was last read.
    pub(super) fn has(&self, workspace: WorkspaceId) -> bool {
        self.by_event.contains_key(&workspace.uuid())
    }

    fn index(&mut self) {
        self.by_event.clear();
        for trigger in self.trigger.values() {
            self.by_event
                .entry(trigger.workspace.uuid())
                .or_default()
                .entry(trigger.config.event_name.clone())
                .or_default()
                .push(Arc::clone(trigger));
        }
    }

    /// Adds the matching events of a batch. A batch of a workspace without live triggers is not decoded.
    pub(super) fn match_batch(&self, payload: &Bytes, matches: &mut Matches) {
        // The ClickHouse writer stores and reports unreadable batches.
        let Ok(header) = Batch::header_of(payload) else { return };
        let Some(names) = self.by_event.get(&header.workspace_id) else { return };
        let Ok(batch) = Batch::from_bytes(payload.clone()) else { return };
        let received = Timestamp::from_millis(header.received_at_ms);
        for event in batch.events() {
            // Any caller can send events with a public key, so that untrusted events trigger nothing.
            if event.is_untrusted {
                continue;
            }
            let Some(trigger) = names.get(event.event_name) else { continue };
            let happened = Timestamp::from_millis(event.timestamp_ms);
            let active = trigger.iter().filter(|one| one.was_active(received, happened));
            let mut active = active.peekable();
            if active.peek().is_none() {
                continue;
            }
            let event_read = match TriggerEvent::of(&header, &event) {
                Ok(event_read) => Arc::new(event_read),
                Err(error) => {
                    tracing::error!(%error, "the properties of an event cannot be read, it triggers nothing");
                    metrics_catalogue::TRIGGER_FAULTS.with(["event"]).increment(1);
                    continue;
                }
            };
            for one in active.filter(|one| one.matches(&event_read)) {
                let key = CampaignKey { workspace: one.workspace, id: one.id };
                let of_trigger = matches.entry(key).or_insert_with(|| TriggerMatches {
                    trigger: Arc::clone(one),
                    events: Vec::new(),
                });
                of_trigger.events.push(Arc::clone(&event_read));
            }
        }
    }
}
