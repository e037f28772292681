//! Processor time of a test, which other load on the machine does not lengthen.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The time of this thread on a processor since a moment.
#[derive(Debug)]
pub(crate) struct CpuTime(Duration);

impl CpuTime {
    pub(crate) fn start() -> Self {
        Self(now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        now().saturating_sub(self.0)
    }
}

fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}
