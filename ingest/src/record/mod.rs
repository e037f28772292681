//! The durable form of admitted events: what a spool frame holds.
//!
//! One [`Batch`] is the accepted part of one request, some of what happened to messages ([`MessageEvent`]), or what
//! calls say of profiles ([`ProfileCall`]). It is written once, by [`BatchBuilder`] or a builder of its kind, and
//! read many times: by the ClickHouse writer, by triggers, and after a restart from disk. Reading
//! is zero-copy: an [`EventView`] borrows from the batch's bytes.
//!
//! # Format, version 1
//!
//! All integers little-endian, nothing aligned.
//!
//! ```text
//! batch   version u8 = 1 · kind u8 · zero u16 · count u32 · workspace_id [16] · received_at_ms i64
//!         · first_seq u64 · event × count (kind 1), message × count (kind 2, see `message`) or
//!         call × count (kind 3, see `profile_call`), and nothing after it
//! event   event_bytes u32 (of all of the event, itself included) · timestamp_ms i64 · day u16
//!         · flags u16 (bit 0: order, bit 1: untrusted) · number_count u16 · length of each of the nine identifiers u16
//!         · properties_bytes u32 · order? · number × number_count · text
//! order   flags u8 (bit 0: revenue, bit 1: base revenue) · revenue i64 · base_revenue i64
//!         · order_id_bytes u32 · currency_bytes u8 · base_currency_bytes u8
//! number  path_bytes u16 · value f64
//! text    the nine identifiers, properties, order id, currency, base currency, number paths,
//!         end to end: one run of UTF-8, so that it is validated in one go
//! ```
//!
//! The frame's checksum belongs to the spool; [`Batch::from_bytes`] still trusts nothing: every
//! length, every string and the count are checked once, so that reading cannot fail afterwards.

mod decode;
mod encode;
mod message;
mod profile_call;
mod sequence;
mod view;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use uuid::Uuid;

pub use encode::BatchBuilder;
pub use message::{
    MESSAGE_TEXT_BYTES_MAX, MessageBatchBuilder, MessageEvent, MessageEvents, MessageKind,
};
pub use profile_call::{ProfileBatchBuilder, ProfileCall, ProfileCallKind, ProfileCalls};
pub use sequence::Sequence;
pub(crate) use view::NumbersMark;
pub use view::{EventView, NumberBuffer, Numbers, NumbersIter, OrderView};

/// Version written into the first byte of every batch.
const FORMAT_VERSION: u8 = 1;
/// Bytes of the header before the first event.
const HEADER_BYTES: usize = 40;
/// Bytes of an event before its order, numbers and text.
const EVENT_FIXED_BYTES: usize = 40;
/// Bytes of the order part of an event.
const ORDER_BYTES: usize = 23;
/// Bytes of one entry of the number table.
const NUMBER_BYTES: usize = 10;
/// Strings of an event that come before its properties.
const IDENTIFIER_COUNT: usize = 9;
/// Flag of an event: an order follows.
const HAS_ORDER: u16 = 1;
/// Flag of an event: it came with a public key under a name that is not trusted.
const IS_UNTRUSTED: u16 = 1 << 1;

/// What the frames of a spool can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BatchKind {
    /// A batch of tracked events.
    Events = 1,
    /// What happened to messages.
    Messages = 2,
    /// What calls of event SDKs say of profiles.
    Profiles = 3,
}

/// What all events of a batch share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// What the batch holds.
    pub kind: BatchKind,
    /// Whose events these are.
    pub workspace_id: Uuid,
    /// When the request was received: milliseconds since the epoch, UTC.
    pub received_at_ms: i64,
    /// Arrival number of the first event; the others follow one by one.
    pub first_seq: u64,
    /// Events in the batch.
    pub count: u32,
}

/// One element of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Record<'a> {
    Event(EventView<'a>),
    Message(MessageEvent<'a>),
}

/// Bytes that are not a batch: a torn frame, a foreign one, or one of a newer version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CorruptBatch {
    /// The bytes end inside the named part.
    #[error("batch ends inside its {0}")]
    Truncated(&'static str),
    /// The first byte is not a version this program reads.
    #[error("batch has format version {0}, this program reads {FORMAT_VERSION}")]
    Version(u8),
    /// The kind byte is unknown.
    #[error("batch has unknown kind {0}")]
    Kind(u8),
    /// The parts contradict one another.
    #[error("batch has an inconsistent {0}")]
    Inconsistent(&'static str),
}

/// Admitted events or profile calls of one request, or message events appended together. Cloning shares the bytes.
#[derive(Debug, Clone)]
pub struct Batch {
    bytes: Bytes,
    header: BatchHeader,
}

impl Batch {
    /// Checks `bytes` completely, once.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, CorruptBatch> {
        let header = decode::header(&bytes)?;
        let mut rest = bytes.get(HEADER_BYTES..).unwrap_or_default();
        for _ in 0..header.count {
            rest = match header.kind {
                BatchKind::Events => decode::event(rest)?.1,
                BatchKind::Messages => message::read(rest)?.1,
                BatchKind::Profiles => profile_call::read(rest)?.1,
            };
        }
        if !rest.is_empty() {
            return Err(CorruptBatch::Inconsistent("count"));
        }
        Ok(Self { bytes, header })
    }

    /// Takes bytes that a builder has just written.
    fn written(bytes: Vec<u8>, header: BatchHeader) -> Self {
        let batch = Self { bytes: Bytes::from(bytes), header };
        debug_assert!(Self::from_bytes(batch.bytes.clone()).is_ok());
        batch
    }

    /// The encoded batch, as the spool stores it.
    pub fn as_bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// What all events of the batch share.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The header alone; what follows it is not looked at.
    pub fn header_of(bytes: &[u8]) -> Result<BatchHeader, CorruptBatch> {
        decode::header(bytes)
    }

    /// The tracked events in order of arrival; none in a batch of another kind.
    pub fn events(&self) -> Events<'_> {
        Events {
            rest: self.bytes.get(HEADER_BYTES..).unwrap_or_default(),
            next_seq: self.header.first_seq,
            left: self.count_of(BatchKind::Events),
        }
    }

    /// The message events in the order they were appended; none in a batch of another kind.
    pub fn messages(&self) -> MessageEvents<'_> {
        MessageEvents {
            rest: self.bytes.get(HEADER_BYTES..).unwrap_or_default(),
            next_seq: self.header.first_seq,
            left: self.count_of(BatchKind::Messages),
        }
    }

    /// The profile calls in the order they were made; none in a batch of another kind.
    pub fn profile_calls(&self) -> ProfileCalls<'_> {
        ProfileCalls {
            rest: self.bytes.get(HEADER_BYTES..).unwrap_or_default(),
            left: self.count_of(BatchKind::Profiles),
        }
    }

    fn count_of(&self, kind: BatchKind) -> u32 {
        if self.header.kind == kind { self.header.count } else { 0 }
    }
}

/// Iterator over the events of a [`Batch`].
#[derive(Debug, Clone)]
pub struct Events<'a> {
    rest: &'a [u8],
    next_seq: u64,
    left: u32,
}

impl<'a> Iterator for Events<'a> {
    type Item = EventView<'a>;

    fn next(&mut self) -> Option<EventView<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (mut event, rest) =
            decode::event(self.rest).expect("a batch is validated when it is made");
        event.seq = self.next_seq;
        self.next_seq = self.next_seq.wrapping_add(1);
        self.rest = rest;
        Some(event)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Events<'_> {}
