//! One frame: a header, a payload, and a checksum that says both are whole and belong here.
//!
//! ```text
//! offset bytes
//!      0     4  CRC32C (RFC 3720) over the spool id, then bytes 4..48, then the payload
//!      4     4  payload length in bytes
//!      8     8  id of the segment this frame was written to
//!     16     8  position: the number of this frame, dense from 0 over the life of the spool
//!     24     8  events in all frames before this one
//!     32     8  when the payload was received, milliseconds since 1970 (the caller's word)
//!     40     4  events in this frame
//!     44     4  index of this frame within its group (the frames of one write and one sync)
//!     48     …  payload
//! ```
//!
//! All integers little-endian. 48 zero bytes in place of a header end a segment. The segment id in
//! the frame is what keeps a frame of a recycled segment's former life from being taken for valid;
//! the spool id in the checksum does so for files of another spool and for bytes a caller chose.

use bytes::Bytes;

/// Bytes of a frame before its payload.
pub(super) const FRAME_HEADER_BYTES: usize = 48;

/// Zeros written after the last frame of a group: "nothing follows", whatever a recycled file held.
pub(super) const TERMINATOR: [u8; FRAME_HEADER_BYTES] = [0; FRAME_HEADER_BYTES];

/// The header of a frame, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub crc: u32,
    pub length: u32,
    pub segment: u64,
    pub position: u64,
    pub first_event: u64,
    pub at_ms: u64,
    pub events: u32,
    pub group_index: u32,
}

impl FrameHeader {
    /// Reads the fields; says nothing about their truth.
    pub(super) fn decode(bytes: &[u8; FRAME_HEADER_BYTES]) -> Self {
        let u32_at = |at: usize| u32::from_le_bytes(array(bytes, at));
        let u64_at = |at: usize| u64::from_le_bytes(array(bytes, at));
        Self {
            crc: u32_at(0),
            length: u32_at(4),
            segment: u64_at(8),
            position: u64_at(16),
            first_event: u64_at(24),
            at_ms: u64_at(32),
            events: u32_at(40),
            group_index: u32_at(44),
        }
    }

    fn encode(&self) -> [u8; FRAME_HEADER_BYTES] {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[0..4].copy_from_slice(&self.crc.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.segment.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.position.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first_event.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.at_ms.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.events.to_le_bytes());
        bytes[44..48].copy_from_slice(&self.group_index.to_le_bytes());
        bytes
    }

    /// Position of the first frame of this frame's group. Frames before it were durable, frames
    /// from it on were not yet when this one was written.
    pub(super) fn group_first(&self) -> u64 {
        self.position.saturating_sub(u64::from(self.group_index))
    }

    /// Appends the frame with its checksum; `self.crc` and `self.length` are computed here.
    pub(super) fn write(mut self, seed: u32, payload: &[u8], out: &mut Vec<u8>) {
        self.length = u32::try_from(payload.len()).expect("a payload fits a segment");
        let header = self.encode();
        self.crc = checksum(seed, &header, payload);
        out.extend_from_slice(&self.encode());
        out.extend_from_slice(payload);
    }

    /// Whether header and payload are those that were written.
    pub(super) fn is_whole(&self, seed: u32, payload: &[u8]) -> bool {
        payload.len() == self.length as usize && checksum(seed, &self.encode(), payload) == self.crc
    }
}

/// The checksum's start: the spool's id, so that frames of another spool never pass.
pub(super) fn seed(spool_id: &[u8; 16]) -> u32 {
    crc32c::crc32c(spool_id)
}

fn checksum(seed: u32, header: &[u8; FRAME_HEADER_BYTES], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(seed, &header[4..]), payload)
}

/// `N` bytes of `bytes` from `at`; the caller has checked the bounds.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// A position in the spool: the number of a frame, dense from 0 over the life of the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(pub(super) u64);

impl Position {
    /// The position as a number, for cursors and logs.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// A place between two frames: everything before it is done, `position` comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// The frame that comes next.
    pub position: Position,
    /// Events in all frames before this place.
    pub events: u64,
    /// Receive time of the frame before this place, milliseconds since 1970; 0 when there is none.
    pub at_ms: u64,
    /// Where the next frame starts, when it is in the same segment: a hint that saves a scan.
    pub(super) segment: u64,
    pub(super) offset: u64,
}

/// One durable entry of the spool, as a consumer gets it.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Position of the frame, dense from 0.
    pub position: Position,
    /// Receive time, milliseconds since 1970, as given to `append`.
    pub at_ms: u64,
    /// Events in the payload, as given to `append`.
    pub events: u32,
    /// The payload, as given to `append`.
    pub payload: Bytes,
    pub(super) end: Mark,
}

impl Frame {
    /// The place after this frame: commit it when the frame and all before it are dealt with.
    pub fn end(&self) -> Mark {
        self.end
    }
}
