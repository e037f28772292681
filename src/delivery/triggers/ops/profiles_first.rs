//! Holds events back until the profile calls before them are applied, so that the event after an identify call finds the
//! profile.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use ingest::{
    profile_progress::{Progress, Waited},
    spool::Position,
};
use kernel::WorkspaceId;
use tokio::time::timeout;

/// The longest wait for the calls of a workspace. Events of others wait with it, unless it is deferred.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(30);

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
        self.pending.retain(|workspace, end| !self.progress.has_reached(workspace.uuid(), *end));
        self.late.retain(|workspace| self.pending.contains_key(workspace));
        self.pending.extend(calls);
    }

    /// Whether nothing is to be waited for.
    pub(super) fn is_ready(&self, workspace: WorkspaceId) -> bool {
        self.is_ready_for(workspace, self.end(workspace))
    }

    /// Whether no calls of the workspace before `end` are to be waited for.
    pub(super) fn is_ready_for(&self, workspace: WorkspaceId, end: Position) -> bool {
        self.late.contains(&workspace) || self.progress.has_reached(workspace.uuid(), end)
    }

    /// Whether the calls of a workspace are to be waited for, and are applied later than those of others.
    pub(super) fn is_behind(&self, workspace: WorkspaceId) -> bool {
        !self.is_ready(workspace) && self.progress.is_deferred(workspace.uuid())
    }

    /// Waits until the noted calls of a workspace are applied, but not for ever. Returns at once where they are applied later
    /// than those of others.
    pub(super) async fn ready(&mut self, workspace: WorkspaceId) -> Waited {
        self.ready_within(WAIT_MAX, workspace).await
    }

    async fn ready_within(&mut self, max: Duration, workspace: WorkspaceId) -> Waited {
        if self.is_ready(workspace) {
            return Waited::Applied;
        }
        let end = self.end(workspace);
        if let Ok(waited) = timeout(max, self.progress.reached(workspace.uuid(), end)).await {
            return waited;
        }
        self.waited_in_vain(workspace);
        Waited::Applied
    }

    /// Waits for the calls of a workspace no more, until they are applied.
    pub(super) fn waited_in_vain(&mut self, workspace: WorkspaceId) {
        tracing::warn!(%workspace, "profile calls are not applied in time, events may find no profile");
        metrics_catalogue::TRIGGER_FAULTS.with(["profile_calls"]).increment(1);
        self.pending.insert(workspace, self.end(workspace));
        self.late.insert(workspace);
    }

    /// Where the last noted calls of a workspace end.
    pub(super) fn end(&self, workspace: WorkspaceId) -> Position {
        self.pending.get(&workspace).copied().unwrap_or(self.began)
    }
}

#[cfg(test)]
mod tests {
    use ingest::{
        profile_progress::{AppliedCalls, ProgressSender},
        record::{BatchBuilder, EventView},
        spool::{Durability, Entry, Spool, SpoolOptions},
    };
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn events_wait_for_the_calls_of_their_workspace_but_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let options = SpoolOptions {
            dir: dir.path().to_owned(),
            segment_bytes: 1 << 20,
            limit_bytes: 64 << 20,
            reserve_bytes: 0,
            queue_bytes: 16 << 20,
            durability: Durability::Os,
        };
        let (spool, _) = Spool::open(options).unwrap();
        let mut consumer = spool.consumer("profile-calls").unwrap();
        let applied = ProgressSender::begin(consumer.next().position);
        let mut builder = BatchBuilder::with_capacity(0);
        builder.push(&EventView { event_name: "Seen", event_id: "1", ..EventView::default() });
        let batch = builder.finish(Uuid::from_u128(7), 1_700_000_000_000, 1 << 12).unwrap();
        spool.append(Entry::from(&batch)).await.unwrap();
        let end = consumer.receive(Duration::from_secs(10)).unwrap().unwrap().end();

        let [with_calls, without] = [1, 2].map(|id| WorkspaceId::new(Uuid::from_u128(id)));
        let mut behind = ProfilesFirst::new(applied.progress(), consumer.next().position);
        assert!(!behind.is_ready(without), "calls from before the start may be of any workspace");
        let mut at_start = ProfilesFirst::new(applied.progress(), Position::default());
        assert!(at_start.is_ready(without));
        at_start.note(&HashMap::from([(with_calls, end.position)]));
        assert!(at_start.is_ready(without) && !at_start.is_ready(with_calls));

        let waited = at_start.ready_within(Duration::ZERO, with_calls).await;
        assert_eq!(waited, Waited::Applied, "events go on without them");
        assert!(at_start.is_ready(with_calls), "it is not waited for again");
        at_start.note(&HashMap::new());
        assert!(at_start.is_ready(with_calls), "as long as its calls are not applied");

        let before = end.position.get();
        let deferred = HashMap::from([(with_calls.uuid(), 0)]);
        applied.set(AppliedCalls { before, deferred });
        assert!(behind.is_ready(without) && !behind.is_ready(with_calls), "only of the others");
        assert!(behind.is_behind(with_calls));
        assert_eq!(behind.ready(with_calls).await, Waited::Deferred, "others wait no longer");
        assert!(!at_start.late.is_empty());
        applied.set(AppliedCalls { before, deferred: HashMap::new() });
        assert_eq!(behind.ready(without).await, Waited::Applied);
        assert_eq!(behind.ready(with_calls).await, Waited::Applied);
        at_start.note(&HashMap::new());
        assert!(at_start.late.is_empty() && at_start.pending.is_empty());
        spool.close().await;
    }
}
