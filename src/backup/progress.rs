//! How far a backup or its restore is, for what shows it.

use std::sync::Arc;

use parking_lot::Mutex;

/// Where progress goes. Cheap to clone.
#[derive(Clone)]
pub struct Progress {
    show: Arc<Show>,
    step: Arc<Mutex<Step>>,
}

/// Shows the name of what is being copied, and the bytes of it that are.
type Show = dyn Fn(&str, u64) + Send + Sync;

#[derive(Debug, Default)]
struct Step {
    name: String,
    bytes: u64,
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("step", &self.step).finish_non_exhaustive()
    }
}

impl Progress {
    /// Calls `show` with the name of what is being copied, and the bytes of it that are.
    pub fn new(show: impl Fn(&str, u64) + Send + Sync + 'static) -> Self {
        Self { show: Arc::new(show), step: Arc::default() }
    }

    pub(crate) fn begin(&self, name: &str) {
        *self.step.lock() = Step { name: name.to_owned(), bytes: 0 };
        (self.show)(name, 0);
    }

    pub(crate) fn advance(&self, bytes: u64) {
        let mut step = self.step.lock();
        step.bytes += bytes;
        (self.show)(&step.name, step.bytes);
    }
}
