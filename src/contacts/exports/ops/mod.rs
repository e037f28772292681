//! Exports that are being answered.

pub mod events;
pub mod people;

use bytes::Bytes;
use kernel::Result;

/// A piece is sent once so many bytes are ready.
const PIECE_BYTES: usize = 128 << 10;

/// A table that is made piece by piece.
pub trait Pieces: Send + 'static {
    /// The next piece of the table, which may be empty at its end; none after it.
    ///
    /// # Errors
    /// When a store fails. What was sent is then no whole table.
    fn next_piece(&mut self) -> impl Future<Output = Result<Option<Bytes>>> + Send;
}
