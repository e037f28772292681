//! Matches events against live triggers, after the profile calls before them.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ingest::{
    profile_progress::{Progress, Waited},
    record::Batch,
    spool::{Mark, Position},
};
use kernel::{Error, Result, WorkspaceId};
use tokio::time::timeout;

use super::{
    batches::EventBatch,
    catalogue::{Catalogue, Matches, TriggerMatches},
    entries,
    held_back::HeldBack,
    profiles_first::ProfilesFirst,
};
use crate::DeliveryState;

/// The longest time for reading live triggers: a store that hangs must not delay events.
const REFRESH_MAX: Duration = Duration::from_secs(10);
/// Pause after a failure of PostgreSQL.
const PAUSE: Duration = Duration::from_secs(1);

/// The live triggers, and the events that wait for profile calls.
#[derive(Debug)]
pub(super) struct Matching {
    catalogue: Catalogue,
    profiles_first: ProfilesFirst,
    held_back: HeldBack,
}

impl Matching {
    /// Nothing is known of live triggers. `began` is where events are read from first.
    pub(super) fn new(profile_calls: Progress, began: Position) -> Self {
        Self {
            catalogue: Catalogue::default(),
            profiles_first: ProfilesFirst::new(profile_calls, began),
            held_back: HeldBack::default(),
        }
    }

    /// The live triggers, as they were last read.
    pub(super) fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Forgets live triggers, which may be incomplete, and events that wait: they are read again. Those that were being
    /// processed do not wait again, so that it is found at which of them it panicked.
    pub(super) fn begin_again(&mut self) {
        self.catalogue = Catalogue::default();
        for workspace in std::mem::take(&mut self.held_back).due_workspaces() {
            self.profiles_first.waited_in_vain(workspace);
        }
    }

    /// Notes the profile calls that were read with events.
    pub(super) fn note(&mut self, batch: &EventBatch) {
        self.profiles_first.note(&batch.profile_calls);
    }

    /// The place before which no event waits, where everything before `processed` was processed or waits.
    pub(super) fn done_before(&self, processed: Mark) -> Mark {
        self.held_back.start().unwrap_or(processed)
    }

    /// Events that wait no more. They are given again until they are let go.
    pub(super) fn due(&mut self) -> Vec<Bytes> {
        self.held_back.due(&mut self.profiles_first, Instant::now())
    }

    /// Enters the events that waited. False as for [`Self::enter`].
    pub(super) async fn enter_due(&mut self, app: &DeliveryState, due: &[Bytes]) -> bool {
        if !self.refreshed(app).await {
            return false;
        }
        let mut matches = Matches::new();
        for payload in due {
            self.catalogue.match_batch(payload, &mut matches);
        }
        for of_trigger in matches.into_values() {
            entries::enter(app, &of_trigger.trigger, &of_trigger.events).await;
        }
        true
    }

    /// Lets the events go that wait no more.
    pub(super) fn let_go(&mut self) {
        self.held_back.let_go();
    }

    /// Enters the events of a batch, or lets those wait whose profile calls are applied later than others. `start` is where
    /// the batch begins. False where there was no live trigger when PostgreSQL, which is unavailable, was last queried.
    pub(super) async fn enter(
        &mut self,
        app: &DeliveryState,
        batch: &EventBatch,
        start: Mark,
    ) -> bool {
        if !self.refreshed(app).await {
            return false;
        }
        let mut matches = Matches::new();
        for payload in &batch.payloads {
            match Batch::header_of(payload).map(|header| WorkspaceId::new(header.workspace_id)) {
                Ok(workspace) if self.waits(workspace) => self.hold_back(workspace, payload, start),
                _ => self.catalogue.match_batch(payload, &mut matches),
            }
        }
        let is_ready = |it: &TriggerMatches| self.profiles_first.is_ready(it.trigger.workspace);
        let (ready, others): (Vec<_>, Vec<_>) = matches.into_values().partition(is_ready);
        let mut deferred = BTreeSet::new();
        for of_trigger in ready.into_iter().chain(others) {
            let workspace = of_trigger.trigger.workspace;
            let waits = deferred.contains(&workspace)
                || self.profiles_first.ready(workspace).await == Waited::Deferred;
            if waits {
                deferred.insert(workspace);
            } else {
                entries::enter(app, &of_trigger.trigger, &of_trigger.events).await;
            }
        }
        for payload in &batch.payloads {
            let Ok(header) = Batch::header_of(payload) else { continue };
            let workspace = WorkspaceId::new(header.workspace_id);
            if deferred.contains(&workspace) {
                self.hold_back(workspace, payload, start);
            }
        }
        true
    }

    /// Whether events of a workspace wait, while those of others do not wait for them.
    fn waits(&self, workspace: WorkspaceId) -> bool {
        self.catalogue.has(workspace)
            && (self.held_back.has(workspace) || self.profiles_first.is_behind(workspace))
    }

    fn hold_back(&mut self, workspace: WorkspaceId, payload: &Bytes, start: Mark) {
        self.held_back.add(workspace, payload, self.profiles_first.end(workspace), start);
    }

    /// Reads live triggers, until it succeeds; false where there was none when they were last read and PostgreSQL is
    /// unavailable.
    async fn refreshed(&mut self, app: &DeliveryState) -> bool {
        let mut is_logged = false;
        while let Err(error) = self.refresh(app).await {
            if error.is_unavailable() && self.catalogue.is_known_empty() {
                tracing::debug!(%error, "there was no live trigger when PostgreSQL was last queried, events pass");
                return false;
            }
            // Before the first migration, or while the store is unavailable.
            if !std::mem::replace(&mut is_logged, true) {
                tracing::warn!(%error, "live triggers cannot be read, trying again");
            }
            tokio::time::sleep(PAUSE).await;
        }
        true
    }

    async fn refresh(&mut self, app: &DeliveryState) -> Result<()> {
        let refreshed = timeout(REFRESH_MAX, self.catalogue.refresh(app)).await;
        refreshed.unwrap_or_else(|_| Err(Error::store_unavailable()))
    }
}
