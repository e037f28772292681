//! What opening a spool does: lock, find the segments, find the end of the frames, cut a torn tail.
//!
//! Only the newest segment is read: the headers of the others say where they begin, and their frames
//! are checked when they are read. Appends never go on in a file of an earlier run: the first append
//! opens a fresh segment, so that nothing a torn write left behind can ever look like a part of it.

use std::{fmt::Debug, io, path::Path, sync::Arc};

use uuid::Uuid;

use super::{
    SpoolError, SpoolOptions, cursor,
    files::{Files, read_around_bad_sectors, replace_file},
    frame::{Mark, Position, array, seed},
    metrics::SpoolMetrics,
    scan::{Found, Scan},
    segment::{
        DAMAGED_PREFIX, SEGMENT_HEADER_BYTES, SegmentHeader, free_id, free_path, live_id, live_path,
    },
    state::{Segment, Shared, Slot, State},
};

const IDENTITY_MAGIC: &[u8; 8] = b"MLRIDEN1";
const IDENTITY_BYTES: usize = 28;

/// What was found when the spool was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Segments with frames some consumer may still need.
    pub segments: usize,
    /// The end of the frames: the position the next append gets.
    pub head: Position,
    /// Bytes behind the last whole frame of the newest segment that were not a clean end: a write
    /// that a crash cut short (or damage), cut off now. 0 when the end was clean.
    pub torn_bytes: u64,
    /// Segments without a readable header or frame, renamed to `damaged-<id>.seg` and left alone.
    pub segments_damaged: usize,
    /// Consumers whose cursor was unreadable and who start again at the oldest frame.
    pub cursors_reset: Vec<String>,
}

struct Opening<'a> {
    files: &'a dyn Files,
    dir: &'a Path,
    spool_id: [u8; 16],
    recovery: Recovery,
    state: State,
}

pub(super) fn open(
    files: Arc<dyn Files>,
    options: SpoolOptions,
) -> Result<(Arc<Shared>, Recovery), SpoolError> {
    options.check()?;
    let dir = options.dir.clone();
    let at = |doing: &'static str| {
        let dir = dir.clone();
        move |source: io::Error| SpoolError::io(doing, &dir, source)
    };
    files.create_dir(&dir).map_err(at("create"))?;
    let lock = lock(files.as_ref(), &dir)?;
    let names = files.list(&dir).map_err(at("list"))?;
    let spool_id = identity(files.as_ref(), &dir, &names).map_err(at("read the identity in"))?;
    let mut opening = Opening {
        files: files.as_ref(),
        dir: &dir,
        spool_id,
        recovery: Recovery::default(),
        state: State::default(),
    };
    opening.live_segments(&names).map_err(at("read the segments in"))?;
    opening.tail().map_err(at("read the newest segment in"))?;
    opening.free_segments(&names).map_err(at("remove the free segments in"))?;
    opening.cursors(&names).map_err(at("read the cursors in"))?;
    let Opening { mut recovery, state, .. } = opening;
    recovery.head = state.head.position;
    let shared = Shared {
        seed: seed(&spool_id),
        files,
        options,
        spool_id,
        state: state.into(),
        queued_bytes: 0.into(),
        is_writer_down: false.into(),
        room_bytes: 0.into(),
        metrics: SpoolMetrics::new(),
        _lock: lock,
    };
    #[expect(clippy::cast_precision_loss, reason = "a gauge")]
    shared.metrics.limit_bytes.set(shared.options.limit_bytes as f64);
    shared.release();
    recovery.segments = shared.state.lock().segments.len();
    Ok((Arc::new(shared), recovery))
}

fn lock(files: &dyn Files, dir: &Path) -> Result<Box<dyn Debug + Send + Sync>, SpoolError> {
    files.lock(&dir.join("lock")).map_err(|source| match source.kind() {
        io::ErrorKind::WouldBlock => SpoolError::Locked { dir: dir.to_owned() },
        _ => SpoolError::io("lock", dir, source),
    })
}

/// The spool's id: from its own file, else from a segment, else a new one.
fn identity(files: &dyn Files, dir: &Path, names: &[String]) -> io::Result<[u8; 16]> {
    let path = dir.join("identity");
    let mut bytes = [0; IDENTITY_BYTES];
    let file = files.open(&path)?;
    let count = read_around_bad_sectors(file.as_ref(), &mut bytes, 0)?;
    let crc = u32::from_le_bytes(array(&bytes, 24));
    if count == IDENTITY_BYTES
        && &bytes[..8] == IDENTITY_MAGIC
        && crc32c::crc32c(&bytes[..24]) == crc
    {
        return Ok(array(&bytes, 8));
    }
    let mut id = *Uuid::new_v4().as_bytes();
    for segment in names.iter().filter_map(|name| live_id(name)) {
        let file = files.open(&live_path(dir, segment))?;
        if let Some(header) = SegmentHeader::read(file.as_ref())? {
            id = header.spool_id;
            break;
        }
    }
    bytes[..8].copy_from_slice(IDENTITY_MAGIC);
    bytes[8..24].copy_from_slice(&id);
    let crc = crc32c::crc32c(&bytes[..24]);
    bytes[24..].copy_from_slice(&crc.to_le_bytes());
    replace_file(files, dir, "identity", &bytes)?;
    Ok(id)
}

impl Opening<'_> {
    fn live_segments(&mut self, names: &[String]) -> io::Result<()> {
        let mut ids: Vec<u64> = names.iter().filter_map(|name| live_id(name)).collect();
        ids.sort_unstable();
        for id in ids {
            self.state.next_segment = id + 1;
            let file = self.files.open(&live_path(self.dir, id))?;
            let file_bytes = file.length()?;
            let header = SegmentHeader::read(file.as_ref())?
                .filter(|it| it.spool_id == self.spool_id && it.segment == id);
            let start = if let Some(header) = header {
                Some((header.base, header.base_events))
            } else {
                tracing::error!(segment = id, "spool segment has a damaged header");
                let mut scan = Scan::new(file, id, seed(&self.spool_id), 0);
                match scan.next(file_bytes)? {
                    Found::Frame { header, .. } => Some((header.position, header.first_event)),
                    Found::End { .. } => None,
                }
            };
            if let Some((base, base_events)) = start {
                self.state.segments.push_back(Segment {
                    id,
                    base,
                    base_events,
                    bytes: file_bytes,
                    file_bytes,
                    // Whether a sync of it failed then is not known any more.
                    is_abandoned: true,
                });
            } else {
                self.set_aside(id)?;
            }
        }
        Ok(())
    }

    /// A file in which nothing can be read is kept for a human, out of the way.
    fn set_aside(&mut self, id: u64) -> io::Result<()> {
        tracing::error!(segment = id, "spool segment is unreadable, set aside as damaged");
        let aside = self.dir.join(format!("{DAMAGED_PREFIX}{id:020}.seg"));
        self.files.rename(&live_path(self.dir, id), &aside)?;
        self.files.sync_dir(self.dir)?;
        self.recovery.segments_damaged += 1;
        Ok(())
    }

    /// Finds the end of the frames and cuts what is behind it.
    fn tail(&mut self) -> io::Result<()> {
        let Some(last) = self.state.segments.back_mut() else { return Ok(()) };
        let file = self.files.open(&live_path(self.dir, last.id))?;
        let mut scan = Scan::new(file, last.id, seed(&self.spool_id), 0);
        let offset = SEGMENT_HEADER_BYTES as u64;
        let (position, events) = (Position(last.base), last.base_events);
        let mut head = Mark { position, events, at_ms: 0, segment: last.id, offset };
        let torn = loop {
            match scan.next(last.file_bytes)? {
                Found::Frame { header, .. } => {
                    head = Mark {
                        position: Position(header.position + 1),
                        events: header.first_event + u64::from(header.events),
                        at_ms: header.at_ms,
                        segment: last.id,
                        offset: scan.offset(),
                    };
                }
                Found::End { torn } => break torn,
            }
        };
        if torn {
            self.recovery.torn_bytes = last.file_bytes.saturating_sub(head.offset);
            tracing::warn!(
                segment = last.id,
                offset = head.offset,
                position = head.position.0,
                "spool ends in a torn write, which is cut off"
            );
        }
        if last.file_bytes > head.offset {
            match scan.file().truncate(head.offset).and_then(|()| scan.file().sync()) {
                Ok(()) => last.file_bytes = head.offset,
                Err(error) => {
                    tracing::warn!(segment = last.id, %error, "could not cut the spool's tail");
                }
            }
        }
        last.bytes = head.offset;
        self.state.head = head;
        Ok(())
    }

    /// Free files of an earlier run are removed: one of them may be there because a sync of it failed,
    /// and such a file is not used again.
    fn free_segments(&mut self, names: &[String]) -> io::Result<()> {
        for id in names.iter().filter_map(|name| free_id(name)) {
            self.state.next_segment = self.state.next_segment.max(id + 1);
            self.files.remove(&free_path(self.dir, id))?;
        }
        for name in names {
            if let Some(id) = name.strip_prefix(DAMAGED_PREFIX).and_then(live_id) {
                self.state.next_segment = self.state.next_segment.max(id + 1);
            }
        }
        Ok(())
    }

    fn cursors(&mut self, names: &[String]) -> io::Result<()> {
        for name in names.iter().filter_map(|name| cursor::name_of(name)) {
            let mark = cursor::read(self.files, self.dir, &self.spool_id, name)?;
            let committed = mark.unwrap_or_else(|| {
                tracing::error!(
                    consumer = name,
                    "spool cursor is unreadable, starting at the oldest frame"
                );
                self.recovery.cursors_reset.push(name.to_owned());
                Mark::default()
            });
            // Positions a consumer is past must not be given out again, even if the spool itself
            // lost them (which it can with durability `os`).
            if committed.position > self.state.head.position {
                self.state.head = committed;
            }
            self.state.slots.push(Slot::new(name.to_owned(), committed));
        }
        let oldest = self.state.segments.front().copied();
        for slot in &mut self.state.slots {
            if let Some(oldest) = oldest.filter(|it| slot.committed.position.0 < it.base) {
                slot.committed = Mark {
                    position: Position(oldest.base),
                    events: oldest.base_events,
                    segment: oldest.id,
                    ..slot.committed
                };
                slot.committed.offset = 0;
            }
        }
        Ok(())
    }
}
