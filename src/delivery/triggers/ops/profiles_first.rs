//! Holds events back until the profile calls before them are applied, so that the event after an identify call finds the
//! profile.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use ingest::spool::{Position, Progress};
use kernel::WorkspaceId;
use tokio::time::timeout;

/// The longest wait for the calls of a workspace: events of others wait with it.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Which workspaces have profile calls that are not applied yet.
#[derive(Debug)]
pub(super) struct ProfilesFirst {
    /// Of the consumer that applies profile calls.
    progress: Progress,
    /// Where events were read from first. The calls of any workspace may be before it.
    began: Position,
    /// Where the last calls of a workspace end.
    pending: HashMap<WorkspaceId, Position>,
    /// Workspaces whose calls were waited for in vain. Not again until they are applied.
    late: HashSet<WorkspaceId>,
}

impl ProfilesFirst {
    pub(super) fn new(progress: Progress, began: Position) -> Self {
        Self { progress, began, pending: HashMap::new(), late: HashSet::new() }
    }

    /// Notes where calls end that were read with events.
    pub(super) fn note(&mut self, calls: &HashMap<WorkspaceId, Position>) {
        self.pending.retain(|_, end| !self.progress.has_reached(*end));
        self.late.retain(|workspace| self.pending.contains_key(workspace));
        self.pending.extend(calls);
    }

    /// Whether nothing is to be waited for.
    pub(super) fn is_ready(&self, workspace: WorkspaceId) -> bool {
        self.late.contains(&workspace) || self.progress.has_reached(self.end(workspace))
    }

    /// Waits until the noted calls of a workspace are applied, but not for ever.
    pub(super) async fn ready(&mut self, workspace: WorkspaceId) {
        if self.is_ready(workspace) {
            return;
        }
        let end = self.end(workspace);
        if timeout(WAIT_MAX, self.progress.reached(end)).await.is_err() {
            tracing::warn!(%workspace, "profile calls are not applied in time, events may find no profile");
            metrics_catalogue::TRIGGER_FAULTS.with(["profile_calls"]).increment(1);
            self.pending.insert(workspace, end);
            self.late.insert(workspace);
        }
    }

    fn end(&self, workspace: WorkspaceId) -> Position {
        self.pending.get(&workspace).copied().unwrap_or(self.began)
    }
}
