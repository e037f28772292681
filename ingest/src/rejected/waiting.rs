//! What waits in memory, within its limits.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use uuid::Uuid;

use crate::model::rejection::{EventSource, KeptRejection};

/// Refused events of one workspace that wait: those of one request.
pub(super) const WAITING_MAX: usize = 500;
/// Likewise of a workspace that had more than these when the batch before was taken.
pub(super) const WAITING_IN_FLOOD_MAX: usize = 50;
/// Refused events of a class of senders that wait in all.
pub(super) const WAITING_IN_ALL_MAX: usize = 4_000;
/// Workspaces of which something waits.
pub(super) const WORKSPACES_MAX: usize = 10_000;

/// What waits of each class of senders. Anyone can send with a public key, so that it takes no room from servers.
#[derive(Debug, Default)]
pub(super) struct WaitingByClass {
    server: Waiting,
    public: Waiting,
}

impl WaitingByClass {
    /// What waits of the class of this sender.
    pub(super) fn of(&mut self, source: EventSource<'_>) -> &mut Waiting {
        if source.is_public { &mut self.public } else { &mut self.server }
    }

    /// Takes the events and numbers of all workspaces.
    pub(super) fn take(&mut self) -> RejectedBatch {
        let mut batch = self.server.take();
        let RejectedBatch { events, unlisted } = self.public.take();
        batch.events.extend(events);
        batch.unlisted.extend(unlisted);
        batch
    }
}

/// Refused events of one class of senders that wait to be stored, the newest of each workspace.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    workspaces: HashMap<Uuid, OfWorkspace>,
    in_all: usize,
}

#[derive(Debug, Default)]
struct OfWorkspace {
    /// Those that wait, the oldest first.
    events: VecDeque<Arc<KeptRejection>>,
    unlisted: u64,
    newest_ms: i64,
    /// Whether it had too many when the batch before was taken.
    is_flooded: bool,
}

impl OfWorkspace {
    fn limit(&self) -> usize {
        if self.is_flooded { WAITING_IN_FLOOD_MAX } else { WAITING_MAX }
    }
}

/// What waited when it was taken.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RejectedBatch {
    /// Events to be listed, of each workspace and class of senders the oldest first.
    pub events: Vec<Arc<KeptRejection>>,
    /// Numbers of those that are only counted.
    pub unlisted: Vec<UnlistedEvents>,
}

/// Refused events of a workspace and class of senders of which only the number is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnlistedEvents {
    /// The workspace they were sent to.
    pub workspace_id: Uuid,
    /// When the last of them was refused: milliseconds since 1970.
    pub at_ms: i64,
    /// How many they are.
    pub count: u64,
}

impl RejectedBatch {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.unlisted.is_empty()
    }
}

impl Waiting {
    /// Events of a workspace that wait at most.
    pub(super) fn limit(&self, workspace: Uuid) -> usize {
        self.workspaces.get(&workspace).map_or(WAITING_MAX, OfWorkspace::limit)
    }

    /// Adds events in the order in which they were sent, and the number of those before them that are only counted.
    /// Returns how many are not listed because of that.
    pub(super) fn push(
        &mut self,
        workspace: Uuid,
        at_ms: i64,
        events: Vec<Arc<KeptRejection>>,
        cut: u64,
    ) -> u64 {
        if self.workspaces.len() >= WORKSPACES_MAX && !self.workspaces.contains_key(&workspace) {
            return cut + events.len() as u64;
        }
        let entry = self.workspaces.entry(workspace).or_default();
        let before = entry.unlisted;
        entry.unlisted += cut;
        entry.newest_ms = entry.newest_ms.max(at_ms);
        for event in events {
            if entry.events.len() >= entry.limit() || self.in_all >= WAITING_IN_ALL_MAX {
                entry.unlisted += 1;
                // Without one of its own that could make room, it is itself left out.
                if entry.events.pop_front().is_none() {
                    continue;
                }
                self.in_all -= 1;
            }
            entry.events.push_back(event);
            self.in_all += 1;
        }
        entry.unlisted - before
    }

    /// Takes the events and numbers of all workspaces.
    fn take(&mut self) -> RejectedBatch {
        let mut batch = RejectedBatch::default();
        self.workspaces.retain(|workspace_id, entry| {
            let has_too_many = entry.unlisted > 0;
            if has_too_many {
                batch.unlisted.push(UnlistedEvents {
                    workspace_id: *workspace_id,
                    at_ms: entry.newest_ms,
                    count: entry.unlisted,
                });
            }
            batch.events.extend(entry.events.drain(..));
            *entry = OfWorkspace { is_flooded: has_too_many, ..OfWorkspace::default() };
            has_too_many
        });
        self.in_all = 0;
        batch
    }
}
