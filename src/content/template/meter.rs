//! The resource usage of a rendering, and the writer that enforces its limit.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use liquid_core::{Error, Result, Runtime};

use super::{ITERATIONS_MAX, KEPT_BYTES_MAX, RenderFault};

/// The usage of one rendering. It lives in the runtime's registers, where loops and filters find it.
#[derive(Debug, Default)]
pub(super) struct Meter {
    deadline: Option<Instant>,
    iterations: u64,
    kept_bytes: usize,
    fault: Option<RenderFault>,
}

impl Meter {
    pub(super) fn starting(time: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(time), ..Self::default() }
    }

    /// The first limit that was reached.
    pub(super) fn fault(&self) -> Option<RenderFault> {
        self.fault.clone()
    }

    /// Records that a limit was reached; the error stops the rendering.
    pub(super) fn stop(&mut self, fault: RenderFault) -> Error {
        let error = Error::with_msg(fault.to_string());
        self.fault.get_or_insert(fault);
        error
    }

    /// Whether the rendering may continue.
    pub(super) fn check(&mut self) -> Result<()> {
        if self.fault.is_some() {
            return Err(Error::with_msg("stopped"));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(self.stop(RenderFault::Time));
        }
        Ok(())
    }

    /// Counts an iteration of a loop.
    pub(super) fn iteration(&mut self) -> Result<()> {
        self.iterations += 1;
        if self.iterations > ITERATIONS_MAX {
            Err(self.stop(RenderFault::Iterations))
        } else {
            self.check()
        }
    }

    /// Counts a stored value. The next step stops if it was too large.
    pub(super) fn keep(&mut self, bytes: usize) -> Result<()> {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        if self.kept_bytes > KEPT_BYTES_MAX {
            return Err(self.stop(RenderFault::Kept));
        }
        Ok(())
    }

    /// Bytes that may still be stored.
    pub(super) fn room(&self) -> usize {
        KEPT_BYTES_MAX.saturating_sub(self.kept_bytes)
    }
}

pub(super) fn of(runtime: &dyn Runtime) -> std::cell::RefMut<'_, Meter> {
    runtime.registers().get_mut::<Meter>()
}

/// A buffer that fails instead of growing beyond its limit.
#[derive(Debug)]
pub(super) struct Output {
    bytes: Vec<u8>,
    limit: usize,
    over: bool,
}

impl Output {
    pub(super) fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, over: false }
    }

    /// Whether the limit was exceeded.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn into_text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.over || bytes.len() > self.limit - self.bytes.len() {
            self.over = true;
            return Err(io::Error::other("the output is full"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
