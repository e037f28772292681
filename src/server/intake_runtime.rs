//! The threads that serve the connections of the API and take events in.
//!
//! They run nothing else, so that an acknowledgement waits for no page, report or delivery.

use anyhow::Context as _;
use tokio::runtime::{Builder, Handle, Runtime};

#[derive(Debug)]
pub(super) struct IntakeRuntime(Option<Runtime>);

impl IntakeRuntime {
    pub(super) fn start() -> anyhow::Result<Self> {
        let runtime = Builder::new_multi_thread().thread_name("intake").enable_all().build();
        runtime.map(|it| Self(Some(it))).context("cannot start threads for connections")
    }

    pub(super) fn handle(&self) -> &Handle {
        self.0.as_ref().expect("it is there until it is dropped").handle()
    }
}

impl Drop for IntakeRuntime {
    /// A server may be dropped where waiting for threads is not allowed.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
