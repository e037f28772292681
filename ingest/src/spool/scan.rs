//! Walks the frames of one segment, and finds the next good one behind a bad one.

use std::io;

use bytes::{Bytes, BytesMut};

use super::{
    files::{SpoolFile, read_around_bad_sectors},
    frame::{FRAME_HEADER_BYTES, FrameHeader, TERMINATOR, array},
    segment::SEGMENT_HEADER_BYTES,
};

/// Bytes read from a segment at a time.
const READ_BYTES: usize = 256 * 1024;
/// Offset of the segment id in a frame's header.
const SEGMENT_ID_AT: usize = 8;

const _: () = assert!(READ_BYTES >= FRAME_HEADER_BYTES);
const _: () = assert!(SEGMENT_ID_AT + size_of::<u64>() <= FRAME_HEADER_BYTES);

/// Result of one [`Scan::next`].
#[derive(Debug)]
pub(super) enum Found {
    /// A whole frame of this segment.
    Frame { header: FrameHeader, payload: Bytes },
    /// No whole frame follows. `torn` when what follows is not a clean end.
    End { torn: bool },
}

/// A walk over one segment's frames, up to `limit`.
#[derive(Debug)]
pub(super) struct Scan {
    file: Box<dyn SpoolFile>,
    segment: u64,
    seed: u32,
    /// Where the next frame starts in the file, which is where `buffer` starts.
    offset: u64,
    buffer: BytesMut,
}

impl Scan {
    pub(super) fn new(file: Box<dyn SpoolFile>, segment: u64, seed: u32, offset: u64) -> Self {
        let offset = offset.max(SEGMENT_HEADER_BYTES as u64);
        Self { file, segment, seed, offset, buffer: BytesMut::new() }
    }

    /// Number of the segment being scanned.
    pub(super) fn segment(&self) -> u64 {
        self.segment
    }

    /// Where the next frame starts: the end of the last one found.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The scanned file, so that the caller can truncate it at [`Scan::offset`].
    pub(super) fn file(&self) -> &dyn SpoolFile {
        self.file.as_ref()
    }

    /// The next whole frame before `limit` bytes of the file. A bad frame is passed over when a
    /// good one of the same segment follows anywhere behind it; the caller sees the gap in the
    /// positions. At the end the offset stays behind the last whole frame.
    pub(super) fn next(&mut self, limit: u64) -> io::Result<Found> {
        if let Some((header, payload)) = self.frame(limit)? {
            return Ok(Found::Frame { header, payload });
        }
        // A header cut off by the limit is as torn as a wrong one; no bytes at all are a clean end.
        let torn = !self.buffer.is_empty() && !self.buffer.starts_with(&TERMINATOR);
        let end = self.offset;
        if self.resync(limit)?
            && let Some((header, payload)) = self.frame(limit)?
        {
            return Ok(Found::Frame { header, payload });
        }
        self.offset = end;
        self.buffer.clear();
        Ok(Found::End { torn })
    }

    /// The frame at the offset, when it is whole.
    fn frame(&mut self, limit: u64) -> io::Result<Option<(FrameHeader, Bytes)>> {
        if !self.fill(FRAME_HEADER_BYTES, limit)? {
            return Ok(None);
        }
        let header = FrameHeader::decode(&array(&self.buffer, 0));
        let bytes = FRAME_HEADER_BYTES + header.length as usize;
        if header.segment != self.segment || !self.fill(bytes, limit)? {
            return Ok(None);
        }
        if !header.is_whole(self.seed, &self.buffer[FRAME_HEADER_BYTES..bytes]) {
            return Ok(None);
        }
        let mut frame = self.buffer.split_to(bytes);
        self.offset += bytes as u64;
        Ok(Some((header, frame.split_off(FRAME_HEADER_BYTES).freeze())))
    }

    /// Makes `bytes` bytes from the offset available; false when the file or the limit ends before.
    fn fill(&mut self, bytes: usize, limit: u64) -> io::Result<bool> {
        if self.buffer.len() >= bytes {
            return Ok(true);
        }
        if self.offset.saturating_add(bytes as u64) > limit {
            // Still read what there is, so that the caller can distinguish a clean end from a torn one.
            let rest = limit.saturating_sub(self.offset).min(FRAME_HEADER_BYTES as u64);
            self.read(usize::try_from(rest).unwrap_or(FRAME_HEADER_BYTES))?;
            return Ok(false);
        }
        let room = usize::try_from(limit - self.offset).unwrap_or(usize::MAX);
        self.read(bytes.max(READ_BYTES).min(room))?;
        Ok(self.buffer.len() >= bytes)
    }

    /// Extends the buffer to `bytes` bytes, or to the end of the file.
    fn read(&mut self, bytes: usize) -> io::Result<()> {
        let have = self.buffer.len();
        if bytes <= have {
            return Ok(());
        }
        self.buffer.resize(bytes, 0);
        let from = self.offset + have as u64;
        let count = read_around_bad_sectors(self.file.as_ref(), &mut self.buffer[have..], from);
        self.buffer.truncate(have + count.as_ref().map_or(0, |count| *count));
        count.map(|_| ())
    }

    /// Moves to the next offset at which a whole frame of this segment starts.
    fn resync(&mut self, limit: u64) -> io::Result<bool> {
        let pattern = self.segment.to_le_bytes();
        // The bad frame itself starts here.
        self.skip(1, limit)?;
        loop {
            if self.buffer.len() < FRAME_HEADER_BYTES {
                let room = usize::try_from(limit.saturating_sub(self.offset)).unwrap_or(usize::MAX);
                self.read(READ_BYTES.min(room))?;
            }
            if self.buffer.len() < FRAME_HEADER_BYTES {
                return Ok(false);
            }
            // The unwritten rest of a file is zeros, which also spell the id of segment 0; no frame
            // begins with this many of them, since its length is not 0.
            let zeros = self.buffer.iter().take_while(|byte| **byte == 0).count();
            if zeros >= SEGMENT_ID_AT {
                self.skip(zeros - (SEGMENT_ID_AT - 1), limit)?;
                continue;
            }
            let candidate = self.buffer[SEGMENT_ID_AT..]
                .windows(pattern.len())
                .position(|window| window == pattern);
            let Some(candidate) = candidate else {
                // The pattern may straddle the end of what was read.
                let keep = SEGMENT_ID_AT + pattern.len() - 1;
                self.skip(self.buffer.len() - keep, limit)?;
                continue;
            };
            self.skip(candidate, limit)?;
            if self.is_frame_here(limit)? {
                return Ok(true);
            }
            self.skip(1, limit)?;
        }
    }

    fn is_frame_here(&mut self, limit: u64) -> io::Result<bool> {
        if !self.fill(FRAME_HEADER_BYTES, limit)? {
            return Ok(false);
        }
        let header = FrameHeader::decode(&array(&self.buffer, 0));
        let bytes = FRAME_HEADER_BYTES + header.length as usize;
        Ok(header.segment == self.segment
            && self.fill(bytes, limit)?
            && header.is_whole(self.seed, &self.buffer[FRAME_HEADER_BYTES..bytes]))
    }

    fn skip(&mut self, bytes: usize, limit: u64) -> io::Result<()> {
        if self.buffer.len() < bytes {
            let room = usize::try_from(limit.saturating_sub(self.offset)).unwrap_or(usize::MAX);
            self.read(bytes.min(room))?;
        }
        let bytes = bytes.min(self.buffer.len());
        drop(self.buffer.split_to(bytes));
        self.offset += bytes as u64;
        Ok(())
    }
}
