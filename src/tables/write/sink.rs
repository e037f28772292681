//! Where writers put bytes, and their owner takes them from.

use std::{
    io::{self, Write},
    sync::Arc,
};

use bytes::Bytes;
use parking_lot::Mutex;

/// Bytes that were written and not taken yet; clones share them. Libraries own their writer, so it is shared.
#[derive(Debug, Clone, Default)]
pub(super) struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub(super) fn take(&self) -> Bytes {
        std::mem::take(&mut *self.0.lock()).into()
    }

    pub(super) fn append(&self, bytes: &[u8]) {
        self.0.lock().extend_from_slice(bytes);
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
