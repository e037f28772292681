//! The tape and the memory it is written into.

use std::{fmt, mem};

use simd_json::{Buffers, INPUT_PADDING, Node, Tape, fill_tape_padded};

use super::source::Source;

/// Bytes of the longest text that is parsed as one, so that a tape has at most 2 million nodes
/// (48 MiB).
pub const TAPE_BYTES_MAX: usize = 4 << 20;
/// Objects and arrays around a value of a body. Well above what events may nest, so that the
/// message about that can say where.
pub const NESTING_MAX: usize = 64;
/// Bytes of the longest text whose memory is kept for the next one.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Parses texts one after the other in the same memory.
pub struct Parser {
    nesting_max: usize,
    buffers: Buffers,
    /// The text being parsed, and simd-json's padding.
    text: Vec<u8>,
    /// Empty between two texts.
    tape: Tape<'static>,
}

impl fmt::Debug for Parser {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Parser")
            .field("nesting_max", &self.nesting_max)
            .finish_non_exhaustive()
    }
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_nesting(NESTING_MAX)
    }
}

impl Parser {
    /// A parser of texts with at most that many containers around a value.
    pub fn with_nesting(nesting_max: usize) -> Self {
        let buffers = Buffers::with_max_depth(0, nesting_max);
        Self { nesting_max, buffers, text: Vec::new(), tape: Tape(Vec::new()) }
    }

    /// Parses `text` and lets `read` have its nodes; none when simd-json refuses it.
    pub fn parse<T>(&mut self, text: &[u8], read: impl FnOnce(&[Node<'_>]) -> T) -> Option<T> {
        self.parse_in(text, |nodes, _| read(nodes))
    }

    /// Likewise, with the text they were read from.
    pub(crate) fn parse_in<T>(
        &mut self,
        text: &[u8],
        read: impl FnOnce(&[Node<'_>], Source<'_>) -> T,
    ) -> Option<T> {
        self.text.clear();
        self.text.reserve(text.len() + INPUT_PADDING);
        self.text.extend_from_slice(text);
        self.text.resize(text.len() + INPUT_PADDING, b' ');
        let copied_to = self.text.as_ptr().addr();
        let mut tape = mem::replace(&mut self.tape, Tape(Vec::new())).reset();
        let parsed = fill_tape_padded(&mut self.text, text.len(), &mut self.buffers, &mut tape);
        let read = parsed.ok().map(|()| read(&tape.0, Source { text, copied_to }));
        self.tape = tape.reset();
        if text.len() > KEPT_BYTES_MAX {
            *self = Self::with_nesting(self.nesting_max);
        }
        read
    }
}
