//! Reads the spool, cuts it into chunks and encodes them, on a thread of its own.

use std::{
    collections::{HashSet, VecDeque},
    fmt::Write as _,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use supervisor::Heartbeat;
use tokio::sync::mpsc;

use super::{
    Flow, Limits,
    chunk::{Chunk, Partition, Permit, Permits},
    dead_letters::DeadLetter,
    encode::{self, Months},
    repeats::{ErasedFinder, Found, Interrupted, RepeatFinder},
};
use crate::{
    record::{Batch, BatchHeader, BatchKind},
    spool::{ConsumeError, Consumer, Frame, Mark, Position},
};

/// How long a wait may last before the flags are looked at again.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Why a frame that could be read is a dead letter.
const LEFT_OUT: &str = "the pipeline panicked at this frame each time it was tried";
/// Pause after the spool could not be read.
const READ_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Gather {
    pub consumer: Consumer,
    pub limits: Limits,
    pub flow: Arc<Flow>,
    pub heartbeat: Heartbeat,
    pub permits: Permits,
    pub chunks: mpsc::Sender<Chunk>,
    pub finder: Finder,
    /// Where batches ended before the last stop: they are cut there again, so that ClickHouse knows
    /// their tokens.
    pub noted: VecDeque<Position>,
    /// Cuts handed on and not yet committed.
    pub cuts: Vec<Position>,
}

/// Finds events that are not stored.
pub(super) enum Finder {
    /// Repeats, where this process is the only writer.
    Repeats(RepeatFinder),
    /// Events of erased people, where several processes write: ClickHouse collapses other repeats then.
    Erased(ErasedFinder),
}

/// A chunk being gathered.
struct Open {
    first: Position,
    end: Mark,
    batches: Vec<Batch>,
    unreadable: Vec<DeadLetter>,
    /// Positions of those frames.
    skipped: Vec<Position>,
    frames: u64,
    rows: usize,
    bytes: usize,
    events: u64,
    oldest_at_ms: u64,
    since: Instant,
}

/// Why the thread ends.
struct Finished;

/// The rows that a batch becomes in ClickHouse.
fn rows(batch: &BatchHeader) -> usize {
    match batch.kind {
        BatchKind::Events | BatchKind::Messages => batch.count as usize,
        // Another consumer applies them.
        BatchKind::Profiles => 0,
    }
}

impl Gather {
    /// Runs until stopped and drained, or aborted, or the spool is closed and drained.
    pub(super) fn run(mut self) {
        while let Some(permit) = self.permit() {
            let Ok(Some(open)) = self.gather() else { return };
            self.note_cut(open.end.position);
            let Ok(chunk) = self.encode(open, permit) else { return };
            if self.chunks.blocking_send(chunk).is_err() {
                return;
            }
        }
    }

    fn permit(&self) -> Option<Permit> {
        while !self.flow.is_over() {
            self.heartbeat.beat();
            if let Some(permit) = self.permits.take(WAIT_MAX) {
                return Some(permit);
            }
        }
        None
    }

    /// Frames up to the next cut; none when there is nothing left and there will be no more.
    fn gather(&mut self) -> Result<Option<Open>, Finished> {
        let mut open: Option<Open> = None;
        loop {
            let stopping = self.flow.stopping.load(Ordering::Acquire);
            let linger = match &open {
                _ if stopping => Duration::ZERO,
                None => WAIT_MAX,
                Some(open) => {
                    let linger = self.limits.linger_of(open.rows);
                    linger.saturating_sub(open.since.elapsed()).min(WAIT_MAX)
                }
            };
            match self.receive(linger)? {
                Received::Frame(frame) => {
                    let fill = self.admit(&mut open, &frame);
                    if self.is_full(&fill) {
                        return Ok(open);
                    }
                }
                Received::Idle if stopping => return Ok(open),
                Received::End => return Ok(open),
                Received::Idle => {}
            }
            if open.as_ref().is_some_and(|open| self.is_due(open)) {
                return Ok(open);
            }
        }
    }

    fn receive(&mut self, timeout: Duration) -> Result<Received, Finished> {
        if self.flow.is_over() {
            return Err(Finished);
        }
        self.heartbeat.beat();
        match self.consumer.receive(timeout) {
            Ok(Some(frame)) => Ok(Received::Frame(frame)),
            Ok(None) => Ok(Received::Idle),
            Err(ConsumeError::Closed) => Ok(Received::End),
            Err(ConsumeError::Io(error)) => {
                tracing::error!(%error, "could not read the spool, trying again");
                std::thread::sleep(READ_PAUSE);
                Ok(Received::Idle)
            }
        }
    }

    /// Adds a frame to the chunk. Answers how full the chunk is now.
    fn admit(&self, open: &mut Option<Open>, frame: &Frame) -> Fill {
        let open = open.get_or_insert_with(|| {
            self.flow.in_flight.lock().push_back(frame.at_ms);
            Open::new(frame)
        });
        open.frames += 1;
        self.flow.gathering.set(open.first.get(), open.frames);
        open.end = frame.end();
        open.events += u64::from(frame.events);
        open.bytes += frame.payload.len();
        if self.flow.suspects.lock().is_left_out(frame.position.get()) {
            let at_ms = (self.flow.now_ms)();
            open.unreadable.push(unreadable(frame, LEFT_OUT, at_ms));
            open.skipped.push(frame.position);
            return open.fill();
        }
        #[cfg(test)]
        super::tests::panic_at_poison(frame);
        match Batch::from_bytes(frame.payload.clone()) {
            Ok(batch) => {
                open.rows += rows(batch.header());
                open.batches.push(batch);
            }
            Err(reason) => {
                let at_ms = (self.flow.now_ms)();
                open.unreadable.push(unreadable(frame, &reason.to_string(), at_ms));
                open.skipped.push(frame.position);
            }
        }
        open.fill()
    }

    fn is_full(&mut self, fill: &Fill) -> bool {
        while let Some(noted) = self.noted.front() {
            if *noted > fill.end {
                break;
            }
            let exact = *noted == fill.end;
            self.noted.pop_front();
            if exact {
                return true;
            }
        }
        if fill.frames >= self.flow.suspects.lock().together(fill.first) {
            return true;
        }
        if !self.noted.is_empty() {
            // The chunk of the earlier run that ends there was within the limits, theirs or ours.
            return fill.bytes >= 2 * self.limits.bytes_max;
        }
        fill.rows >= self.limits.rows_max || fill.bytes >= self.limits.bytes_max
    }

    /// Whether the chunk should not wait for more.
    fn is_due(&self, open: &Open) -> bool {
        let waited = open.since.elapsed() >= self.limits.linger_of(open.rows);
        waited && self.noted.is_empty()
            || open.since.elapsed() >= self.limits.linger * 4
            || self.noted.is_empty() && open.rows >= self.limits.rows_min && self.permits.is_idle()
    }

    /// Leaves a note of the cut before anything is sent under its token. A failure costs only the
    /// same cut after a crash.
    fn note_cut(&mut self, end: Position) {
        let committed = self.consumer.cursor().committed().position;
        self.cuts.retain(|cut| *cut > committed);
        self.cuts.push(end);
        if let Err(error) = self.consumer.note_cuts(&self.cuts) {
            tracing::warn!(%error, "could not note where a batch ends");
        }
    }

    fn encode(&mut self, open: Open, mut permit: Permit) -> Result<Chunk, Interrupted> {
        debug_assert!(open.first < open.end.position, "a chunk has frames");
        debug_assert_eq!(
            open.frames,
            (open.batches.len() + open.unreadable.len()) as u64,
            "each frame is a batch or a dead letter"
        );
        let (left_out, partitions) = self.partitions(&open)?;
        permit.note_bytes(partitions.iter().flat_map(|it| &it.block).map(Bytes::len).sum());
        Ok(Chunk {
            first: open.first,
            end: open.end,
            frames: open.frames,
            partitions,
            is_unique: self.is_unique(),
            left_out,
            skipped: open.skipped,
            unreadable: open.unreadable,
            events: open.events,
            oldest_at_ms: open.oldest_at_ms,
            permit,
        })
    }

    /// The blocks of a chunk in the order of their inserts, and what they leave out.
    fn partitions(&mut self, open: &Open) -> Result<(HashSet<u64>, Vec<Partition>), Interrupted> {
        let batches = open.batches.as_slice();
        let mut months = Months::new(open.rows, self.is_unique());
        let Found { left_out, orders } = match &mut self.finder {
            Finder::Repeats(finder) => {
                finder.find(open.first..open.end.position, batches, &mut months)?
            }
            Finder::Erased(finder) => {
                for batch in batches {
                    for event in batch.events() {
                        months.push(batch.header(), &event);
                    }
                }
                Found { left_out: finder.find(batches)?, ..Found::default() }
            }
        };
        let mut partitions: Vec<Partition> = encode::orders(orders).into_iter().collect();
        partitions.extend(months.partitions(&left_out));
        partitions.extend(encode::messages(batches));
        debug_assert_eq!(
            partitions.iter().filter(|it| !it.target.is_derived()).map(|it| it.rows).sum::<usize>(),
            open.rows - left_out.len(),
            "each stored record is a row of one block"
        );
        Ok((left_out, partitions))
    }

    /// Whether each event is stored once without ClickHouse's doing.
    fn is_unique(&self) -> bool {
        matches!(self.finder, Finder::Repeats(_))
    }
}

enum Received {
    Frame(Frame),
    Idle,
    End,
}

struct Fill {
    first: u64,
    frames: u64,
    rows: usize,
    bytes: usize,
    end: Position,
}

impl Open {
    fn new(frame: &Frame) -> Self {
        Self {
            first: frame.position,
            end: frame.end(),
            batches: Vec::new(),
            unreadable: Vec::new(),
            skipped: Vec::new(),
            frames: 0,
            rows: 0,
            bytes: 0,
            events: 0,
            oldest_at_ms: frame.at_ms,
            since: Instant::now(),
        }
    }

    fn fill(&self) -> Fill {
        Fill {
            first: self.first.get(),
            frames: self.frames,
            rows: self.rows,
            bytes: self.bytes,
            end: self.end.position,
        }
    }
}

fn unreadable(frame: &Frame, reason: &str, at_ms: u64) -> DeadLetter {
    let mut hex = String::with_capacity(frame.payload.len() * 2);
    for byte in &frame.payload {
        write!(hex, "{byte:02x}").expect("a string takes everything");
    }
    DeadLetter {
        id: format!("frame-{:020}", frame.position.get()),
        at_ms,
        reason: reason.to_owned(),
        frame: Some(hex),
        ..DeadLetter::default()
    }
}
