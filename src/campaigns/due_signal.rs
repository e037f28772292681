//! Wakes the senders of this process when something is due, before their next poll. Senders of other
//! processes find it by polling.

use std::time::Duration;

use tokio::sync::watch;

/// Notified after a transaction that stored due messages or runs is committed. Wakes every listener.
#[derive(Debug)]
pub struct DueSignal(watch::Sender<u64>);

impl Default for DueSignal {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl DueSignal {
    pub fn notify(&self) {
        self.0.send_modify(|notified| *notified = notified.wrapping_add(1));
    }

    /// A listener for notifications from now on.
    pub fn listen(&self) -> DueListener {
        DueListener(self.0.subscribe())
    }
}

/// Waits for a [`DueSignal`].
#[derive(Debug)]
pub struct DueListener(watch::Receiver<u64>);

impl DueListener {
    /// Waits until the signal was notified since the last wait, or for `longest`.
    pub async fn wait(&mut self, longest: Duration) {
        // Either way it is time to poll.
        drop(tokio::time::timeout(longest, self.0.changed()).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_notification_before_the_wait_wakes_every_listener_once() {
        let signal = DueSignal::default();
        let (mut one, mut other) = (signal.listen(), signal.listen());
        signal.notify();
        signal.notify();
        let long = Duration::from_hours(1);
        tokio::time::timeout(Duration::from_secs(10), one.wait(long)).await.unwrap();
        tokio::time::timeout(Duration::from_secs(10), other.wait(long)).await.unwrap();
        assert!(!one.0.has_changed().unwrap(), "two notifications wake once");
    }
}
