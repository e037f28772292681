//! How far a backup or its restore is, for what shows it.

use std::sync::Arc;

use parking_lot::Mutex;

/// Where progress goes. Cheap to clone.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(&str, u64) + Send + Sync>, Arc<Mutex<Step>>);

#[derive(Debug, Default)]
struct Step {
    name: String,
    bytes: u64,
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Progress").field(&self.1).finish_non_exhaustive()
    }
}

impl Progress {
    /// Calls `show` with the name of what is being copied, and the bytes of it that are.
    pub fn new(show: impl Fn(&str, u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show), Arc::default())
    }

    pub(crate) fn begin(&self, name: &str) {
        *self.1.lock() = Step { name: name.to_owned(), bytes: 0 };
        (self.0)(name, 0);
    }

    pub(crate) fn advance(&self, bytes: u64) {
        let mut step = self.1.lock();
        step.bytes += bytes;
        (self.0)(&step.name, step.bytes);
    }
}
