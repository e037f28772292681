//! A reader of the spool with a durable cursor of its own.
//!
//! Two ways lead frames here, and the position decides which is right, so nothing is lost, doubled
//! or reordered:
//!
//! - **live**: the writer sends each frame it has made durable into a bounded channel;
//! - **segments**: the consumer reads the segments.
//!
//! `next` is the position that must be delivered next. The writer moves the head and sends within
//! one critical section, so a channel always holds a gapless run of positions. When the channel is
//! full the writer drops its end and sends no more. The consumer empties the channel, sees it
//! disconnected, and reads the segments from `next`. Once `next` equals the head it asks for a new channel
//! inside the same lock: the next frame made durable is exactly `next`, and it comes through there.

use std::{
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};
use parking_lot::Mutex;

use super::{
    SpoolError, cursor,
    frame::{Frame, Mark, Position},
    log_reader::LogReader,
    scan::{Found, Scan},
    segment::live_path,
    state::{Segment, Shared, Slot},
};

/// Frames a consumer's channel holds.
const LIVE_FRAMES_MAX: usize = 2048;
/// While frames come, an empty channel is looked at again after this pause. A consumer that waited in the channel would
/// have to be woken by the writer, for each frame, before the callers are answered.
const POLL_PAUSE: Duration = Duration::from_millis(4);
/// Time without a frame after which a consumer waits in the channel.
const POLL_FOR: Duration = Duration::from_millis(100);

/// Why a consumer got nothing.
#[derive(Debug, thiserror::Error)]
pub enum ConsumeError {
    /// The spool was closed and everything in it was delivered.
    #[error("spool is closed")]
    Closed,
    /// The segments could not be read; the same call may be tried again.
    #[error("could not read the spool")]
    Io(#[from] io::Error),
}

/// What lies between a consumer's cursor and the end of the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behind {
    /// Frames after the committed position.
    pub frames: u64,
    /// Events in these frames.
    pub events: u64,
    /// Bytes of segments they take.
    pub bytes: u64,
}

/// Opens a consumer again by its name, once the one before is gone: after a panic of its reader.
#[derive(Debug, Clone)]
pub struct Reopener {
    shared: Arc<Shared>,
    name: String,
}

impl Reopener {
    /// The consumer, from what it committed on.
    ///
    /// # Errors
    /// [`SpoolError::ConsumerBusy`] while the one before is still open.
    pub fn open(&self) -> Result<Consumer, SpoolError> {
        Consumer::open(Arc::clone(&self.shared), &self.name)
    }

    /// The consumer, from this mark on: what is between the committed one and this is known to it.
    ///
    /// # Errors
    /// [`SpoolError::ConsumerBusy`] while the one before is still open.
    pub fn open_at(&self, mark: Mark) -> Result<Consumer, SpoolError> {
        let mut consumer = self.open()?;
        if mark.position > consumer.next().position {
            consumer.log.go_on_at(mark);
        }
        Ok(consumer)
    }
}

/// A reader of the spool. Delivers every frame from its cursor on, in order, again after a restart
/// when it was not committed.
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<Shared>,
    cursor: Cursor,
    log: LogReader,
    live: Option<Receiver<Frame>>,
    live_bytes: Arc<AtomicUsize>,
    /// When the last frame came through the channel.
    last_live: Option<Instant>,
}

impl Consumer {
    pub(super) fn open(shared: Arc<Shared>, name: &str) -> Result<Self, SpoolError> {
        if !cursor::is_name(name) {
            return Err(SpoolError::ConsumerName { name: name.to_owned() });
        }
        let mut state = shared.state.lock();
        let known = state.slots.iter().position(|slot| slot.name == name);
        let index = if let Some(index) = known {
            index
        } else {
            // A new consumer starts with the oldest frame there is.
            let oldest = state.segments.front().map(|segment| Mark {
                position: Position(segment.base),
                events: segment.base_events,
                at_ms: 0,
                segment: segment.id,
                offset: 0,
            });
            let committed = oldest.unwrap_or(state.head);
            let (files, dir) = (shared.files.as_ref(), &shared.options.dir);
            cursor::replace(files, dir, &shared.spool_id, name, &committed)
                .map_err(|source| SpoolError::io("write a cursor in", dir, source))?;
            state.slots.push(Slot::new(name.to_owned(), committed));
            state.slots.len() - 1
        };
        let slot = &mut state.slots[index];
        if slot.open {
            return Err(SpoolError::ConsumerBusy { name: name.to_owned() });
        }
        slot.open = true;
        let (next, live_bytes) = (slot.committed, Arc::clone(&slot.live_bytes));
        let replacing = Arc::clone(&slot.replacing);
        drop(state);
        let cursor = Cursor { shared: Arc::clone(&shared), slot: index, replacing };
        let log = LogReader::at(Arc::clone(&shared), next);
        Ok(Self { shared, cursor, log, live: None, live_bytes, last_live: None })
    }

    /// The next frame, waiting up to `timeout` for it; `None` when none came. Blocks the thread.
    pub fn receive(&mut self, timeout: Duration) -> Result<Option<Frame>, ConsumeError> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(live) = &self.live {
                match receive_live(live, self.last_live, deadline) {
                    Ok(frame) => {
                        self.last_live = Some(Instant::now());
                        self.live_bytes.fetch_sub(frame.payload.len(), Ordering::AcqRel);
                        let next = self.log.next().position;
                        assert_eq!(frame.position, next, "a channel has no gaps");
                        self.log.go_on_at(frame.end);
                        return Ok(Some(frame));
                    }
                    Err(RecvTimeoutError::Timeout) => return Ok(None),
                    Err(RecvTimeoutError::Disconnected) => self.live = None,
                }
            }
            if let Some(frame) = self.log.read()? {
                return Ok(Some(frame));
            }
            self.go_live()?;
        }
    }

    /// What opens this consumer again when it is gone.
    pub fn reopener(&self) -> Reopener {
        let name = self.shared.state.lock().slots[self.cursor.slot].name.clone();
        Reopener { shared: Arc::clone(&self.shared), name }
    }

    /// Where the next frame to be delivered is.
    pub fn next(&self) -> Mark {
        self.log.next()
    }

    /// The durable cursor, for the thread that finishes the work.
    pub fn cursor(&self) -> Cursor {
        self.cursor.clone()
    }

    /// Notes the positions before which batches end that are not committed yet, ascending, so that
    /// after a crash of the process the same batches can be cut again. Only the newest few are kept.
    pub fn note_cuts(&self, cuts: &[Position]) -> io::Result<()> {
        let (files, dir) = (self.shared.files.as_ref(), &self.shared.options.dir);
        let name = self.shared.state.lock().slots[self.cursor.slot].name.clone();
        cursor::replace_cuts(files, dir, &self.shared.spool_id, &name, cuts)
    }

    /// The cuts noted before the last stop that lie ahead of what was committed, ascending.
    pub fn noted_cuts(&self) -> io::Result<Vec<Position>> {
        let (files, dir) = (self.shared.files.as_ref(), &self.shared.options.dir);
        let (name, committed, head) = {
            let state = self.shared.state.lock();
            let slot = &state.slots[self.cursor.slot];
            (slot.name.clone(), slot.committed.position, state.head.position)
        };
        let mut cuts = cursor::read_cuts(files, dir, &self.shared.spool_id, &name)?;
        cuts.retain(|cut| *cut > committed && *cut <= head);
        Ok(cuts)
    }

    /// Asks the writer for a channel, if nothing was appended since the segments were read to their end.
    fn go_live(&mut self) -> Result<(), ConsumeError> {
        let mut state = self.shared.state.lock();
        if self.log.next().position < state.head.position {
            return Ok(());
        }
        if state.closed {
            return Err(ConsumeError::Closed);
        }
        let (sender, receiver) = crossbeam_channel::bounded(LIVE_FRAMES_MAX);
        state.slots[self.cursor.slot].live = Some(sender);
        drop(state);
        self.live = Some(receiver);
        self.log.let_go();
        Ok(())
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        let slot = &mut state.slots[self.cursor.slot];
        slot.open = false;
        slot.live = None;
        // A later consumer of this name counts from zero; what is left in this channel goes with it.
        slot.live_bytes = Arc::default();
    }
}

impl Slot {
    pub(super) fn new(name: String, committed: Mark) -> Self {
        Self {
            name,
            committed,
            open: false,
            live: None,
            live_bytes: Arc::default(),
            replacing: Arc::default(),
        }
    }
}

/// A consumer's durable cursor.
#[derive(Debug, Clone)]
pub struct Cursor {
    shared: Arc<Shared>,
    slot: usize,
    /// One replacement of the file at a time.
    replacing: Arc<Mutex<()>>,
}

impl Cursor {
    /// Makes `mark` the place to start from after a restart, durably, and frees the segments that
    /// no consumer needs any more. A mark before the committed one changes nothing. Blocks.
    pub fn commit(&self, mark: Mark) -> io::Result<()> {
        let _one_at_a_time = self.replacing.lock();
        let name = {
            let state = self.shared.state.lock();
            let slot = &state.slots[self.slot];
            if mark.position <= slot.committed.position {
                return Ok(());
            }
            slot.name.clone()
        };
        let (files, dir) = (self.shared.files.as_ref(), &self.shared.options.dir);
        cursor::replace(files, dir, &self.shared.spool_id, &name, &mark)?;
        self.shared.state.lock().slots[self.slot].committed = mark;
        self.shared.release();
        Ok(())
    }

    /// Reads segments from this mark on, beside the consumer. Nothing keeps them but the committed mark, which must not be
    /// behind it.
    pub fn reader(&self, mark: Mark) -> LogReader {
        LogReader::at(Arc::clone(&self.shared), mark)
    }

    /// The cursor on disk.
    pub fn committed(&self) -> Mark {
        self.shared.state.lock().slots[self.slot].committed
    }

    /// Reads the payloads of frames again that no consumer has let go, in order. Blocks.
    ///
    /// # Errors
    /// When a segment cannot be read, or lacks one of the frames.
    pub fn read_again(&self, frames: Range<Position>) -> io::Result<Vec<Bytes>> {
        let shared = &self.shared;
        let segments: Vec<Segment> = shared.state.lock().segments.iter().copied().collect();
        let mut payloads = Vec::new();
        let mut next = frames.start;
        for (index, segment) in segments.iter().enumerate() {
            let ends_before = segments.get(index + 1).is_some_and(|after| after.base <= next.0);
            if ends_before || next >= frames.end {
                continue;
            }
            let path = live_path(&shared.options.dir, segment.id);
            let mut scan = Scan::new(shared.files.open(&path)?, segment.id, shared.seed, 0);
            while next < frames.end
                && let Found::Frame { header, payload } = scan.next(segment.bytes)?
            {
                if header.position == next.0 {
                    payloads.push(payload);
                    next = Position(next.0 + 1);
                }
            }
        }
        if next < frames.end {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of the spool is lost"));
        }
        Ok(payloads)
    }

    /// The end of the spool.
    pub fn head(&self) -> Position {
        self.shared.state.lock().head.position
    }

    /// What lies between the committed place and the end of the spool.
    pub fn behind(&self) -> Behind {
        let state = self.shared.state.lock();
        let committed = &state.slots[self.slot].committed;
        Behind {
            frames: state.head.position.0.saturating_sub(committed.position.0),
            events: state.head.events.saturating_sub(committed.events),
            bytes: state.bytes_after(committed),
        }
    }

    /// Bytes of segments that only this consumer keeps from being freed, counted from `mark`: those behind it that every
    /// other consumer has committed past.
    pub fn held_alone_bytes(&self, mark: &Mark) -> u64 {
        let state = self.shared.state.lock();
        let others = state.slots.iter().enumerate().filter(|(slot, _)| *slot != self.slot);
        let held_by_others = others.map(|(_, slot)| state.bytes_after(&slot.committed)).max();
        state.bytes_after(mark).saturating_sub(held_by_others.unwrap_or(0))
    }

    /// The spool's id: part of what makes a position unique in the world.
    pub fn spool_id(&self) -> [u8; 16] {
        self.shared.spool_id
    }
}

/// The next frame of a channel, waiting for it until `deadline`.
fn receive_live(
    live: &Receiver<Frame>,
    last: Option<Instant>,
    deadline: Instant,
) -> Result<Frame, RecvTimeoutError> {
    loop {
        match live.try_recv() {
            Ok(frame) => return Ok(frame),
            Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => {}
        }
        let now = Instant::now();
        if last.is_none_or(|last| now - last > POLL_FOR) {
            return live.recv_deadline(deadline);
        }
        if now >= deadline {
            return Err(RecvTimeoutError::Timeout);
        }
        std::thread::sleep(POLL_PAUSE.min(deadline - now));
    }
}
