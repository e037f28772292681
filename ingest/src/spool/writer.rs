//! The one thread that writes: gather what is queued, one write, one sync, answer everyone.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use supervisor::Heartbeat;
use tokio::sync::oneshot;

use super::{
    AppendError, Durability, Entry,
    files::SpoolFile,
    frame::{FRAME_HEADER_BYTES, Frame, FrameHeader, Mark, Position, TERMINATOR},
    segment::{self, NotMade, SEGMENT_HEADER_BYTES, SegmentHeader},
    state::{Segment, Shared},
};

/// Bytes of frames written and synced together, a single larger frame apart. Bounds how long one
/// sync can take, and the write buffer.
const GROUP_BYTES_MAX: u64 = 4 << 20;

/// Longest wait for an append before the writer beats again.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// Payload bytes a consumer's channel holds before the consumer is sent to the segments.
const LIVE_BYTES_MAX: usize = 8 << 20;

/// What callers send to the writer.
#[derive(Debug)]
pub(super) enum Message {
    Append(Item),
    Renew(oneshot::Sender<Result<Renewed, AppendError>>),
    Close,
}

/// One append on its way.
#[derive(Debug)]
pub(super) struct Item {
    pub entry: Entry,
    pub submitted_at: Instant,
    pub reply: oneshot::Sender<Result<Appended, AppendError>>,
}

/// The end of the segments that were written before [`super::Spool::renew`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// The first segment that was begun afterwards.
    pub(super) segment: u64,
}

/// An entry that became durable, as its caller learns of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Appended {
    pub position: Position,
    /// When its caller was woken.
    pub answered_at: Instant,
}

impl Item {
    fn frame_bytes(&self) -> u64 {
        (FRAME_HEADER_BYTES + self.entry.payload.len()) as u64
    }
}

#[derive(Debug)]
struct Active {
    file: Box<dyn SpoolFile>,
    id: u64,
    offset: u64,
}

#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    queue: Receiver<Message>,
    heartbeat: Heartbeat,
    /// `None` at the start and after a failure: the next group opens a segment.
    active: Option<Active>,
    /// Taken from the queue, but did not fit the last group.
    held_over: Option<Item>,
    /// Taken from the queue while a group was gathered.
    renewals: Vec<oneshot::Sender<Result<Renewed, AppendError>>>,
    group: Vec<Item>,
    group_bytes: u64,
    buffer: Vec<u8>,
    closing: bool,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, queue: Receiver<Message>, heartbeat: Heartbeat) -> Self {
        Self {
            shared,
            queue,
            heartbeat,
            active: None,
            held_over: None,
            renewals: Vec::new(),
            group: Vec::new(),
            group_bytes: 0,
            buffer: Vec::new(),
            closing: false,
        }
    }

    pub(super) fn run(mut self) {
        let heartbeat = self.heartbeat.clone();
        while heartbeat.attempt(|| self.write_until_closed()).is_err() {
            self.give_up_group();
            self.refuse_for(heartbeat.pause());
        }
        heartbeat.ended();
        let mut state = self.shared.state.lock();
        state.closed = true;
        for slot in &mut state.slots {
            slot.live = None;
        }
    }

    fn write_until_closed(&mut self) {
        while let Some(first) = self.first() {
            // It waited longest.
            self.shared.metrics.queued_seconds.record(first.submitted_at.elapsed());
            self.gather(first);
            let outcome = self.write();
            self.answer(&outcome);
            for reply in std::mem::take(&mut self.renewals) {
                self.renew(reply);
            }
        }
    }

    /// Begins a segment in a new file. No file that was written before is used again.
    fn renew(&mut self, reply: oneshot::Sender<Result<Renewed, AppendError>>) {
        let shared = Arc::clone(&self.shared);
        let (segment, free) = {
            let mut state = shared.state.lock();
            state.reusable_from = state.next_segment;
            (state.next_segment, std::mem::take(&mut state.free))
        };
        let removed = free
            .iter()
            .try_for_each(|id| shared.files.remove(&segment::free_path(&shared.options.dir, *id)));
        let outcome = removed
            .and_then(|()| shared.files.sync_dir(&shared.options.dir))
            .map_err(AppendError::io)
            .and_then(|()| self.rotate());
        // A caller that went away asks again.
        drop(reply.send(outcome.map(|()| Renewed { segment })));
    }

    /// After a panic: refuses the group that was under way, and writes no more to its segment. What of the group was
    /// made known to consumers before the panic is durable and stays readable.
    fn give_up_group(&mut self) {
        let shared = Arc::clone(&self.shared);
        if let Some(active) = self.active.take() {
            let mut state = shared.state.lock();
            let head = state.head;
            state.active = None;
            if let Some(segment) = state.segments.iter_mut().find(|it| it.id == active.id) {
                segment.is_abandoned = true;
                if head.segment == active.id {
                    segment.bytes = segment.bytes.max(head.offset);
                }
            }
        }
        self.answer(&Err(AppendError::Restarting));
    }

    /// Refuses appends for a while, so that callers do not wait for a writer that is down.
    fn refuse_for(&mut self, pause: Duration) {
        self.shared.is_writer_down.store(true, Ordering::Release);
        let deadline = Instant::now() + pause;
        while let Ok(message) = self.queue.recv_deadline(deadline) {
            match message {
                Message::Append(item) => {
                    self.group.push(item);
                    self.answer(&Err(AppendError::Restarting));
                }
                Message::Renew(reply) => drop(reply.send(Err(AppendError::Restarting))),
                Message::Close => {
                    self.closing = true;
                    break;
                }
            }
        }
        self.shared.is_writer_down.store(false, Ordering::Release);
    }

    /// Waits for the first item of a group; `None` when closed and drained.
    fn first(&mut self) -> Option<Item> {
        if let Some(item) = self.held_over.take() {
            self.heartbeat.beat();
            return Some(item);
        }
        loop {
            self.heartbeat.beat();
            let message = if self.closing {
                self.queue.try_recv().ok()
            } else {
                match self.queue.recv_timeout(IDLE_MAX) {
                    Ok(message) => Some(message),
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => None,
                }
            };
            match message {
                Some(Message::Append(item)) => return Some(item),
                Some(Message::Renew(reply)) => self.renew(reply),
                Some(Message::Close) => self.closing = true,
                None => return None,
            }
        }
    }

    /// Adds what is queued already, up to what one write takes. The previous sync was the window
    /// in which it gathered; there is no timer.
    fn gather(&mut self, first: Item) {
        let segment_bytes = self.shared.options.segment_bytes;
        let rest = self.active.as_ref().map_or(0, |active| segment_bytes - active.offset);
        let room = if first.frame_bytes() <= rest {
            rest
        } else {
            segment_bytes - SEGMENT_HEADER_BYTES as u64
        };
        let limit = room.min(GROUP_BYTES_MAX);
        self.group_bytes = first.frame_bytes();
        self.group.push(first);
        while self.group_bytes < limit {
            match self.queue.try_recv() {
                Ok(Message::Append(item)) if self.group_bytes + item.frame_bytes() > limit => {
                    self.held_over = Some(item);
                    return;
                }
                Ok(Message::Append(item)) => {
                    self.group_bytes += item.frame_bytes();
                    self.group.push(item);
                }
                Ok(Message::Renew(reply)) => self.renewals.push(reply),
                Ok(Message::Close) => self.closing = true,
                Err(_) => return,
            }
        }
    }

    /// Makes the group durable and known. A segment whose write or sync failed is never written or
    /// synced again (the kernel may have dropped the dirty pages and will report success the next
    /// time); the group goes into a new one, once.
    fn write(&mut self) -> Result<u64, AppendError> {
        let segment_bytes = self.shared.options.segment_bytes;
        let fits =
            self.active.as_ref().is_some_and(|it| segment_bytes - it.offset >= self.group_bytes);
        if !fits {
            self.rotate()?;
        }
        if let Err(error) = self.write_once() {
            self.abandon(&error);
            self.rotate()?;
            if let Err(error) = self.write_once() {
                self.abandon(&error);
                return Err(AppendError::io(error));
            }
        }
        Ok(self.publish())
    }

    fn write_once(&mut self) -> io::Result<()> {
        let head = self.shared.state.lock().head;
        let active = self.active.as_mut().expect("a segment was opened before the write");
        debug_assert!(
            self.shared.options.segment_bytes - active.offset >= self.group_bytes,
            "the group fits the segment"
        );
        self.buffer.clear();
        let mut first_event = head.events;
        for (index, item) in self.group.iter().enumerate() {
            let header = FrameHeader {
                crc: 0,
                length: 0,
                segment: active.id,
                position: head.position.0 + index as u64,
                first_event,
                at_ms: item.entry.at_ms,
                events: item.entry.events,
                group_index: u32::try_from(index).expect("a group is smaller than its bytes"),
            };
            header.write(self.shared.seed, &item.entry.payload, &mut self.buffer);
            first_event += u64::from(item.entry.events);
        }
        assert_eq!(self.buffer.len() as u64, self.group_bytes, "every frame was counted");
        let left = self.shared.options.segment_bytes - active.offset - self.group_bytes;
        let terminator = usize::try_from(left).unwrap_or(usize::MAX).min(TERMINATOR.len());
        self.buffer.extend_from_slice(&TERMINATOR[..terminator]);
        let start = Instant::now();
        active.file.write_at(&self.buffer, active.offset)?;
        self.shared.metrics.write_seconds.record(start.elapsed());
        self.buffer.shrink_to(usize::try_from(GROUP_BYTES_MAX).unwrap_or(usize::MAX) * 2);
        if self.shared.options.durability == Durability::Fsync {
            let start = Instant::now();
            active.file.sync()?;
            self.shared.metrics.fsync_seconds.record(start.elapsed());
        }
        Ok(())
    }

    /// Moves the head past the group and hands its frames to the consumers that keep up.
    /// Returns the position of the first frame.
    fn publish(&mut self) -> u64 {
        let active = self.active.as_mut().expect("the group was written to it");
        let mut state = self.shared.state.lock();
        let first = state.head.position.0;
        let mut events = 0;
        for item in &self.group {
            active.offset += item.frame_bytes();
            events += u64::from(item.entry.events);
            let position = state.head.position;
            state.head = Mark {
                position: Position(position.0 + 1),
                events: state.head.events + u64::from(item.entry.events),
                at_ms: item.entry.at_ms,
                segment: active.id,
                offset: active.offset,
            };
            let frame = Frame {
                position,
                at_ms: item.entry.at_ms,
                events: item.entry.events,
                payload: item.entry.payload.clone(),
                end: state.head,
            };
            for slot in &mut state.slots {
                offer(slot, &frame);
            }
        }
        debug_assert_eq!(
            state.head.position.0,
            first + self.group.len() as u64,
            "positions are dense"
        );
        debug_assert!(
            active.offset <= self.shared.options.segment_bytes,
            "frames end within the segment"
        );
        if let Some(segment) = state.segments.back_mut() {
            debug_assert_eq!(segment.id, active.id, "the newest segment is the active one");
            segment.bytes = active.offset;
        }
        drop(state);
        self.shared.metrics.frames_appended.increment(self.group.len() as u64);
        self.shared.metrics.appended_bytes.increment(self.group_bytes);
        self.shared.metrics.events_enqueued.increment(events);
        first
    }

    fn answer(&mut self, outcome: &Result<u64, AppendError>) {
        self.shared.update_room();
        let answered_at = Instant::now();
        for (index, item) in self.group.drain(..).enumerate() {
            self.shared.queued_bytes.fetch_sub(item.entry.payload.len(), Ordering::AcqRel);
            let appended =
                |first| Appended { position: Position(first + index as u64), answered_at };
            let answer = outcome.as_ref().map_err(Clone::clone).copied().map(appended);
            // A caller that went away does not need the answer; the entry is durable all the same.
            drop(item.reply.send(answer));
        }
        self.group_bytes = 0;
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        let queued_bytes = self.shared.queued_bytes.load(Ordering::Relaxed) as f64;
        self.shared.metrics.queued_bytes.set(queued_bytes);
    }

    fn abandon(&mut self, error: &io::Error) {
        let Some(active) = self.active.take() else { return };
        {
            let mut state = self.shared.state.lock();
            state.active = None;
            let segment = state.segments.iter_mut().find(|segment| segment.id == active.id);
            if let Some(segment) = segment {
                segment.is_abandoned = true;
            }
        }
        tracing::error!(segment = active.id, %error, "a spool segment could not be written, going on in a new one");
    }

    /// Opens the next segment. When there is no room for it, the active one stays for entries that
    /// still fit; when the new one failed so late that the next start may find it, it does not.
    fn rotate(&mut self) -> Result<(), AppendError> {
        let shared = Arc::clone(&self.shared);
        let options = &shared.options;
        let (header, recycled) = {
            let mut state = shared.state.lock();
            if state.file_bytes() + options.segment_bytes > options.limit_bytes {
                return Err(shared.full(&state));
            }
            state.next_segment += 1;
            let header = SegmentHeader {
                spool_id: shared.spool_id,
                segment: state.next_segment - 1,
                base: state.head.position.0,
                base_events: state.head.events,
            };
            (header, state.free.pop())
        };
        if recycled.is_none() && !shared.reserve_allows() {
            return Err(shared.full(&shared.state.lock()));
        }
        let files = shared.files.as_ref();
        let bytes = options.segment_bytes;
        match segment::create(files, &options.dir, &header, bytes, recycled) {
            Ok(file) => {
                let id = header.segment;
                let offset = SEGMENT_HEADER_BYTES as u64;
                self.active = Some(Active { file, id, offset });
                let mut state = shared.state.lock();
                state.active = Some(id);
                state.segments.push_back(Segment {
                    id,
                    base: header.base,
                    base_events: header.base_events,
                    bytes: offset,
                    file_bytes: bytes,
                    is_abandoned: false,
                });
            }
            Err(NotMade { error, may_be_found }) => {
                tracing::error!(%error, "could not open a spool segment");
                if may_be_found {
                    self.active = None;
                    shared.state.lock().active = None;
                }
                return Err(match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        shared.full(&shared.state.lock())
                    }
                    _ => AppendError::io(error),
                });
            }
        }
        shared.release();
        Ok(())
    }
}

/// Hands a frame to a consumer that keeps up. One that does not loses its channel: it drains what
/// is in it, reads on in the segments, and asks for a new channel once it has reached the head.
fn offer(slot: &mut super::state::Slot, frame: &Frame) {
    let Some(live) = &slot.live else { return };
    let bytes = frame.payload.len();
    let before = slot.live_bytes.fetch_add(bytes, Ordering::AcqRel);
    let has_room = before == 0 || before + bytes <= LIVE_BYTES_MAX;
    if !has_room || live.try_send(frame.clone()).is_err() {
        slot.live_bytes.fetch_sub(bytes, Ordering::AcqRel);
        slot.live = None;
    }
}
