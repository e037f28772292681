//! Events of workspaces whose profile calls are applied later than those of others: they wait here, so that the events of
//! others do not wait with them.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Instant,
};

use bytes::Bytes;
use ingest::spool::{Mark, Position};
use kernel::WorkspaceId;

use super::profiles_first::{ProfilesFirst, WAIT_MAX};

/// Bytes of events that may wait. Beyond it, those of the workspace with the most go on without their profile calls.
const BYTES_MAX: usize = 8 << 20;

/// The events of a frame that wait.
#[derive(Debug)]
struct HeldEvents {
    workspace: WorkspaceId,
    payload: Bytes,
    /// Where the profile calls end that they wait for.
    calls_end: Position,
    since: Instant,
    /// Everything before it in the spool was processed, or waits longer.
    start: Mark,
    /// They wait no more. They stay until they are processed.
    is_due: bool,
}

/// Events that wait, in the order of the spool.
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    events: VecDeque<HeldEvents>,
    /// Whose events these are.
    workspaces: HashSet<WorkspaceId>,
}

impl HeldBack {
    /// Whether events of this workspace wait: later ones wait behind them.
    pub(super) fn has(&self, workspace: WorkspaceId) -> bool {
        self.workspaces.contains(&workspace)
    }

    /// Where the oldest events that wait are, or begin after.
    pub(super) fn start(&self) -> Option<Mark> {
        self.events.front().map(|it| it.start)
    }

    /// Lets events of a workspace wait for its calls before `calls_end`. `start` is where their batch begins.
    pub(super) fn add(
        &mut self,
        workspace: WorkspaceId,
        payload: &Bytes,
        calls_end: Position,
        start: Mark,
    ) {
        self.workspaces.insert(workspace);
        self.events.push_back(HeldEvents {
            workspace,
            // Not a part of all that was read with it.
            payload: Bytes::copy_from_slice(payload),
            calls_end,
            since: Instant::now(),
            start,
            is_due: false,
        });
    }

    /// The events that wait no more, in order: their calls are applied, or they waited too long, or are too many. They are
    /// given again until they are let go.
    pub(super) fn due(&mut self, profiles_first: &mut ProfilesFirst, now: Instant) -> Vec<Bytes> {
        let waiting = self.events.iter().filter(|it| {
            let is_over = now.saturating_duration_since(it.since) >= WAIT_MAX;
            is_over && !profiles_first.is_ready_for(it.workspace, it.calls_end)
        });
        let in_vain: HashSet<WorkspaceId> = waiting.map(|it| it.workspace).collect();
        for workspace in in_vain {
            profiles_first.waited_in_vain(workspace);
        }
        for it in &mut self.events {
            it.is_due |= profiles_first.is_ready_for(it.workspace, it.calls_end);
        }
        while let Some(workspace) = self.beyond_limit() {
            profiles_first.waited_in_vain(workspace);
            let of_workspace = self.events.iter_mut().filter(|it| it.workspace == workspace);
            of_workspace.for_each(|it| it.is_due = true);
        }
        self.events.iter().filter(|it| it.is_due).map(|it| it.payload.clone()).collect()
    }

    /// Lets the events go that wait no more: they were processed.
    pub(super) fn let_go(&mut self) {
        self.events.retain(|it| !it.is_due);
        self.workspaces = self.events.iter().map(|it| it.workspace).collect();
    }

    /// The workspaces of events that wait no more.
    pub(super) fn due_workspaces(&self) -> HashSet<WorkspaceId> {
        self.events.iter().filter(|it| it.is_due).map(|it| it.workspace).collect()
    }

    /// The workspace with the most bytes that wait, while all are too many.
    fn beyond_limit(&self) -> Option<WorkspaceId> {
        let mut waiting: HashMap<WorkspaceId, usize> = HashMap::new();
        for it in self.events.iter().filter(|it| !it.is_due) {
            *waiting.entry(it.workspace).or_default() += it.payload.len();
        }
        if waiting.values().sum::<usize>() <= BYTES_MAX {
            return None;
        }
        waiting.into_iter().max_by_key(|(workspace, bytes)| (*bytes, *workspace)).map(|(it, _)| it)
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

    /// The ends of so many frames.
    async fn ends(count: u64) -> Vec<Mark> {
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
        let mut consumer = spool.consumer("held-back").unwrap();
        let mut ends = Vec::new();
        for number in 0..count {
            let mut builder = BatchBuilder::with_capacity(0);
            builder.push(&EventView { event_name: "Seen", event_id: "1", ..EventView::default() });
            let batch = builder.finish(Uuid::nil(), 1_700_000_000_000, number << 12).unwrap();
            spool.append(Entry::from(&batch)).await.unwrap();
            ends.push(consumer.receive(WAIT_MAX).unwrap().unwrap().end());
        }
        spool.close().await;
        ends
    }

    #[tokio::test]
    async fn events_wait_for_their_calls_and_neither_for_ever_nor_in_any_number() {
        let ends = ends(3).await;
        let [one, other] = [1, 2].map(|id| WorkspaceId::new(Uuid::from_u128(id)));
        let applied = ProgressSender::begin(ends[2].position);
        let deferred = |before: [usize; 2]| AppliedCalls {
            before: ends[2].position.get(),
            deferred: [one, other]
                .iter()
                .zip(before)
                .map(|(workspace, before)| (workspace.uuid(), ends[before].position.get()))
                .collect(),
        };
        applied.set(deferred([0, 0]));
        let mut profiles_first = ProfilesFirst::new(applied.progress(), Position::default());
        let last = ends[2].position;
        profiles_first.note(&HashMap::from([(one, last), (other, last)]));
        let mut held = HeldBack::default();
        held.add(one, &Bytes::from_static(b"a"), ends[1].position, ends[0]);
        held.add(other, &Bytes::from_static(b"b"), last, ends[1]);
        held.add(one, &Bytes::from_static(b"c"), last, ends[1]);
        let now = Instant::now();
        assert!(held.due(&mut profiles_first, now).is_empty());
        assert_eq!((held.start(), held.has(one)), (Some(ends[0]), true));

        applied.set(deferred([1, 0]));
        for _ in 0..2 {
            assert_eq!(held.due(&mut profiles_first, now), ["a"], "until it is let go");
        }
        held.let_go();
        assert_eq!((held.start(), held.has(one)), (Some(ends[1]), true));
        assert!(profiles_first.is_behind(one));
        assert_eq!(held.due(&mut profiles_first, now + 2 * WAIT_MAX), ["b", "c"]);
        assert!(profiles_first.is_ready(one) && profiles_first.is_ready(other), "late");
        held.let_go();
        assert_eq!((held.start(), held.has(one)), (None, false));

        let mut profiles_first = ProfilesFirst::new(applied.progress(), last);
        held.add(other, &Bytes::from_static(b"d"), last, ends[2]);
        held.add(one, &Bytes::from(vec![0; BYTES_MAX]), last, ends[2]);
        let due = held.due(&mut profiles_first, now);
        assert_eq!(due.iter().map(Bytes::len).collect::<Vec<_>>(), [BYTES_MAX]);
        assert!(profiles_first.is_ready(one) && !profiles_first.is_ready(other));
    }
}
