//! The bell: tells the senders of this process that something is due, so that they need not wait for
//! their next look. Senders of other processes find it by looking.

use tokio::sync::Notify;

use crate::app::App;

/// Rung when messages were kept that are due.
#[derive(Debug, Default)]
pub struct Bell(Notify);

impl Bell {
    /// Wakes whoever waits, or the next one to wait.
    pub fn ring(&self) {
        self.0.notify_one();
    }

    /// Waits until it rings.
    pub async fn rung(&self) {
        self.0.notified().await;
    }
}

/// Has what is due looked for at once. Called after the transaction that keeps messages is committed.
pub fn wake(app: &App) {
    app.bell().ring();
}
