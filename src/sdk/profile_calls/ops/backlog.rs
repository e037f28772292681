//! Reads the calls of deferred workspaces, behind the first reader.

use std::{
    io,
    time::{Duration, Instant},
};

use ingest::{
    record::{Batch, BatchKind},
    spool::{Cursor, Frame, LogReader, Mark},
};
use kernel::WorkspaceId;
use supervisor::Suspects;

use crate::profile_calls::model::deferral::{Backlog, Pending, SliceEnd};

/// How long it reads at most before others take their turn.
const READING_MAX: Duration = Duration::from_millis(20);

/// The frames whose calls are being applied.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InProgress {
    pub(super) first: u64,
    pub(super) frames: u64,
}

/// The reader of a backlog, and what it has read.
#[derive(Debug)]
pub(super) struct BacklogReader {
    log: LogReader,
    /// The calls of its workspaces before it were applied.
    next: Mark,
    pub(super) pending: Pending,
    /// Frames at which applying its calls panicked.
    suspects: Suspects,
    in_progress: InProgress,
}

impl BacklogReader {
    pub(super) fn at(cursor: &Cursor, next: Mark) -> Self {
        Self {
            log: cursor.reader(next),
            next,
            pending: Pending::default(),
            suspects: Suspects::default(),
            in_progress: InProgress::default(),
        }
    }

    /// Where it is: the cursor on disk must not be further.
    pub(super) fn next(&self) -> Mark {
        self.next
    }

    /// Suspects the frames that were being applied, and begins again before them.
    pub(super) fn panicked(&mut self, cursor: &Cursor) {
        let InProgress { first, frames } = std::mem::take(&mut self.in_progress);
        self.suspects.panicked(first, frames);
        self.pending = Pending::default();
        self.log = cursor.reader(self.next);
    }

    /// Reads calls on, where all that were read are applied, and no further than the first reader is.
    ///
    /// # Errors
    /// When the spool cannot be read. What was read by then stays.
    pub(super) fn fill(backlog: &mut Backlog<Self>, first: Mark) -> io::Result<()> {
        if !backlog.reader.pending.is_empty() {
            return Ok(());
        }
        let (since, end) = (Instant::now(), backlog.end(first.position.get()));
        while backlog.reader.log.next().position.get() < end && !backlog.reader.is_full(since) {
            let Some(frame) = backlog.reader.log.read()? else { break };
            let in_progress = &mut backlog.reader.in_progress;
            if in_progress.frames == 0 {
                in_progress.first = frame.position.get();
            }
            in_progress.frames += 1;
            Self::take(backlog, frame);
        }
        Ok(())
    }

    fn is_full(&self, since: Instant) -> bool {
        let InProgress { first, frames } = self.in_progress;
        let is_alone = frames > 0 && frames >= self.suspects.together(first);
        is_alone || self.pending.is_full() || since.elapsed() >= READING_MAX
    }

    fn take(backlog: &mut Backlog<Self>, frame: Frame) {
        let Ok(header) = Batch::header_of(&frame.payload) else { return };
        let position = frame.position.get();
        let workspace = WorkspaceId::new(header.workspace_id);
        if header.kind != BatchKind::Profiles || !backlog.applies(workspace, position) {
            return;
        }
        if backlog.reader.suspects.is_left_out(position) {
            tracing::error!(
                position,
                "a frame of profile calls is left out: applying it panicked each time"
            );
        } else if let Ok(calls) = Batch::from_bytes(frame.payload) {
            backlog.reader.pending.add(calls);
        }
    }

    /// Notes that the calls of a slice were applied.
    pub(super) fn advance(backlog: &mut Backlog<Self>, slice: SliceEnd) {
        let reader = &mut backlog.reader;
        reader.pending.advance(slice);
        if !reader.pending.is_empty() {
            return;
        }
        reader.next = reader.log.next();
        reader.in_progress = InProgress::default();
        let next = reader.next.position.get();
        reader.suspects.passed(next);
        for workspace in backlog.reach(next) {
            tracing::debug!(%workspace, "its profile calls are applied with those of others again");
        }
    }
}
