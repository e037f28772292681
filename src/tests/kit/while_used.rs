//! What tests of a folder share while any of them runs.

use std::sync::{Arc, Weak};

use tokio::sync::Mutex;

/// Something that is started by the first test that asks, and ends with the last that holds it: a server that no test uses
/// any more takes time from those that run.
#[derive(Debug)]
pub(crate) struct WhileUsed<T>(Mutex<Weak<T>>);

impl<T> WhileUsed<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::const_new(Weak::new()))
    }

    pub(crate) async fn get(&self, start: impl AsyncFnOnce() -> T) -> Arc<T> {
        let mut held = self.0.lock().await;
        if let Some(found) = held.upgrade() {
            return found;
        }
        let started = Arc::new(start().await);
        *held = Arc::downgrade(&started);
        started
    }
}
