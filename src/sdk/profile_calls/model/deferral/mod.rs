//! Which workspaces' calls are applied later than others', so that many calls of one workspace delay no other.
//!
//! The first reader goes through the spool in batches. Of each workspace it applies [`WORK_MAX`] of a batch: a workspace with
//! more is deferred from the start of that batch on. The first reader leaves its calls out from then on, and a second one, of a
//! [`Backlog`], begins at that start and applies only them, [`WORK_MAX`] at a time. It ends where the first reader left out the
//! last of them: from then on the first reader applies the calls of that workspace again. So all calls of a workspace are
//! applied in their order, by one reader or by two.

use std::collections::{HashMap, VecDeque};

use ingest::{
    profile_progress::AppliedCalls,
    record::{Batch, ProfileCall},
};
use kernel::WorkspaceId;

use super::Work;

/// Most work of one workspace that is applied before calls of others: a quarter of a second.
pub(in crate::profile_calls) const WORK_MAX: u64 = 1_000;
/// Most backlogs: each has a reader and calls in memory. Workspaces beyond share them.
const BACKLOGS_MAX: usize = 4;
/// Bytes of calls of a backlog in memory, beside those of one frame.
const PENDING_BYTES_MAX: usize = 1 << 20;

/// Where the frames of a deferred workspace are that the first reader left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::profile_calls) struct LeftOut {
    /// All its calls before it were applied.
    pub(in crate::profile_calls) from: u64,
    /// The end of the last one.
    pub(in crate::profile_calls) end: u64,
}

/// The calls of deferred workspaces, and what reads them.
#[derive(Debug)]
pub(in crate::profile_calls) struct Backlog<R> {
    pub(in crate::profile_calls) reader: R,
    /// The calls of its workspaces before it were applied.
    next: u64,
    workspaces: HashMap<WorkspaceId, LeftOut>,
}

impl<R> Backlog<R> {
    /// Whether it applies the calls of a frame.
    pub(in crate::profile_calls) fn applies(&self, workspace: WorkspaceId, position: u64) -> bool {
        self.workspaces.get(&workspace).is_some_and(|left_out| left_out.from <= position)
    }

    /// How far its reader may go where the first reader is at `first`: to the end of the last calls that were left out. Calls
    /// behind `first` are of a batch that is read again.
    pub(in crate::profile_calls) fn end(&self, first: u64) -> u64 {
        let end = self.workspaces.values().map(|left_out| left_out.end).max();
        end.unwrap_or(self.next).min(first)
    }

    /// Notes that the calls of its workspaces before `next` were applied. Gives those that are deferred no longer.
    pub(in crate::profile_calls) fn reach(&mut self, next: u64) -> Vec<WorkspaceId> {
        self.next = next;
        self.workspaces
            .extract_if(|_, left_out| left_out.end <= next)
            .map(|(workspace, _)| workspace)
            .collect()
    }
}

/// The deferred workspaces and their backlogs.
#[derive(Debug)]
pub(in crate::profile_calls) struct Deferral<R> {
    backlogs: Vec<Backlog<R>>,
}

impl<R> Default for Deferral<R> {
    fn default() -> Self {
        Self { backlogs: Vec::new() }
    }
}

impl<R> Deferral<R> {
    pub(in crate::profile_calls) fn is_empty(&self) -> bool {
        self.backlogs.is_empty()
    }

    pub(in crate::profile_calls) fn backlog(&self, place: usize) -> Option<&Backlog<R>> {
        self.backlogs.get(place)
    }

    pub(in crate::profile_calls) fn backlogs(&mut self) -> &mut [Backlog<R>] {
        &mut self.backlogs
    }

    /// Whether the first reader leaves out this frame, which ends at `end`: its workspace is deferred.
    pub(in crate::profile_calls) fn leaves_out(
        &mut self,
        workspace: WorkspaceId,
        end: u64,
    ) -> bool {
        let mut found = self.backlogs.iter_mut().filter_map(|it| it.workspaces.get_mut(&workspace));
        let Some(left_out) = found.next() else { return false };
        left_out.end = left_out.end.max(end);
        true
    }

    /// Defers a workspace. `reader` makes what reads the spool from `from` on, where that is needed.
    pub(in crate::profile_calls) fn defer(
        &mut self,
        workspace: WorkspaceId,
        left_out: LeftOut,
        reader: impl FnOnce() -> R,
    ) {
        if self.backlogs.len() < BACKLOGS_MAX {
            let workspaces = HashMap::from([(workspace, left_out)]);
            self.backlogs.push(Backlog { reader: reader(), next: left_out.from, workspaces });
            return;
        }
        // No reader of a backlog passes the place to which the first one has applied calls, where its batch began.
        let smallest = self.backlogs.iter_mut().min_by_key(|backlog| backlog.workspaces.len());
        if let Some(backlog) = smallest {
            backlog.workspaces.insert(workspace, left_out);
        }
    }

    /// Removes backlogs without calls.
    pub(in crate::profile_calls) fn remove_done(&mut self) {
        self.backlogs.retain(|backlog| !backlog.workspaces.is_empty());
    }

    /// Positions before which calls are applied, where the first reader is at `first`.
    pub(in crate::profile_calls) fn applied(&self, first: u64) -> AppliedCalls {
        let of_backlog = |backlog: &Backlog<R>| {
            let next = backlog.next;
            let before = move |(workspace, left_out): (&WorkspaceId, &LeftOut)| {
                (workspace.uuid(), left_out.from.max(next))
            };
            backlog.workspaces.iter().map(before).collect::<Vec<_>>()
        };
        AppliedCalls {
            before: first,
            deferred: self.backlogs.iter().flat_map(of_backlog).collect(),
        }
    }
}

/// Calls of one workspace, in their order.
#[derive(Debug)]
pub(in crate::profile_calls) struct WorkspaceCalls<'c> {
    pub(in crate::profile_calls) workspace: WorkspaceId,
    pub(in crate::profile_calls) calls: Vec<ProfileCall<'c>>,
}

/// The calls of a batch of the first reader.
#[derive(Debug)]
pub(in crate::profile_calls) struct FirstBatch {
    /// Where it begins: a workspace is deferred from there on.
    start: u64,
    bytes: usize,
    workspaces: HashMap<WorkspaceId, WorkspaceFrames>,
}

/// The frames of one workspace in a batch.
#[derive(Debug, Default)]
struct WorkspaceFrames {
    frames: Vec<Batch>,
    work: Work,
    bytes: usize,
}

impl FirstBatch {
    pub(in crate::profile_calls) fn at(start: u64) -> Self {
        Self { start, bytes: 0, workspaces: HashMap::new() }
    }

    /// Bytes of its calls.
    pub(in crate::profile_calls) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the calls of a frame. False where their workspace has too many then, and is to be deferred.
    pub(in crate::profile_calls) fn add(&mut self, calls: Batch) -> bool {
        let workspace = WorkspaceId::new(calls.header().workspace_id);
        let of_workspace = self.workspaces.entry(workspace).or_default();
        for call in calls.profile_calls() {
            of_workspace.work.add(&call);
        }
        let bytes = calls.as_bytes().len();
        self.bytes += bytes;
        of_workspace.bytes += bytes;
        of_workspace.frames.push(calls);
        of_workspace.work.units() <= WORK_MAX
    }

    /// Leaves out the calls of a workspace, the last of which end at `end`.
    pub(in crate::profile_calls) fn leave_out(
        &mut self,
        workspace: WorkspaceId,
        end: u64,
    ) -> LeftOut {
        let calls = self.workspaces.remove(&workspace).unwrap_or_default();
        self.bytes -= calls.bytes;
        LeftOut { from: self.start, end }
    }

    /// The calls of each workspace, the fewest first: they wait for no others.
    pub(in crate::profile_calls) fn calls(&self) -> Vec<WorkspaceCalls<'_>> {
        let mut workspaces: Vec<_> = self.workspaces.iter().collect();
        workspaces.sort_by_key(|(workspace, frames)| (frames.work.units(), **workspace));
        let calls = workspaces.into_iter().map(|(workspace, frames)| WorkspaceCalls {
            workspace: *workspace,
            calls: frames.frames.iter().flat_map(Batch::profile_calls).collect(),
        });
        calls.collect()
    }
}

/// Calls of a backlog that were read and are not all applied.
#[derive(Debug, Default)]
pub(in crate::profile_calls) struct Pending {
    frames: VecDeque<Batch>,
    /// Calls of the first frame that were applied.
    applied: usize,
    calls: u64,
    bytes: usize,
}

/// Calls that are applied together.
#[derive(Debug)]
pub(in crate::profile_calls) struct Slice<'p> {
    pub(in crate::profile_calls) calls: Vec<WorkspaceCalls<'p>>,
    pub(in crate::profile_calls) end: SliceEnd,
}

/// Where a slice ends: whole frames, and calls of the next one.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::profile_calls) struct SliceEnd {
    frames: usize,
    calls: usize,
}

impl<'p> Slice<'p> {
    fn push(&mut self, workspace: WorkspaceId, call: ProfileCall<'p>) {
        match self.calls.iter_mut().find(|of| of.workspace == workspace) {
            Some(of) => of.calls.push(call),
            None => self.calls.push(WorkspaceCalls { workspace, calls: vec![call] }),
        }
    }
}

impl Pending {
    pub(in crate::profile_calls) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether it has enough calls to be applied together.
    pub(in crate::profile_calls) fn is_full(&self) -> bool {
        self.calls >= WORK_MAX || self.bytes >= PENDING_BYTES_MAX
    }

    pub(in crate::profile_calls) fn add(&mut self, calls: Batch) {
        self.calls += u64::from(calls.header().count);
        self.bytes += calls.as_bytes().len();
        self.frames.push_back(calls);
    }

    /// The next calls, until their work is enough.
    pub(in crate::profile_calls) fn slice(&self) -> Slice<'_> {
        let mut slice = Slice { calls: Vec::new(), end: SliceEnd::default() };
        let mut work = Work::default();
        for (place, frame) in self.frames.iter().enumerate() {
            let workspace = WorkspaceId::new(frame.header().workspace_id);
            let applied = if place == 0 { self.applied } else { 0 };
            for (number, call) in frame.profile_calls().enumerate().skip(applied) {
                if work.units() >= WORK_MAX {
                    slice.end = SliceEnd { frames: place, calls: number };
                    return slice;
                }
                work.add(&call);
                slice.push(workspace, call);
            }
        }
        slice.end = SliceEnd { frames: self.frames.len(), calls: 0 };
        slice
    }

    /// Lets go of the calls of a slice, which were applied.
    pub(in crate::profile_calls) fn advance(&mut self, end: SliceEnd) {
        self.frames.drain(..end.frames);
        self.applied = end.calls;
        if self.frames.is_empty() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests;
