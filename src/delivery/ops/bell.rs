//! The bell: tells the senders of this process that something is due, so that they need not wait for
//! their next look. Senders of other processes find it by looking.

use std::time::Duration;

use tokio::sync::watch;

use crate::app::App;

/// Rung when messages were kept that are due. Everyone who listens hears it.
#[derive(Debug)]
pub struct Bell(watch::Sender<u64>);

impl Default for Bell {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Bell {
    /// Wakes everyone who listens.
    pub fn ring(&self) {
        self.0.send_modify(|rung| *rung = rung.wrapping_add(1));
    }

    /// Listens from now on.
    pub fn listen(&self) -> Listener {
        Listener(self.0.subscribe())
    }
}

/// Somebody who listens for a bell.
#[derive(Debug)]
pub struct Listener(watch::Receiver<u64>);

impl Listener {
    /// Waits until the bell has rung since the last time, or for so long.
    pub async fn wait(&mut self, longest: Duration) {
        // Either way it is time to look.
        drop(tokio::time::timeout(longest, self.0.changed()).await);
    }
}

/// Has what is due looked for at once. Called after the transaction that keeps messages is committed.
pub fn wake(app: &App) {
    app.bell().ring();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_listens_hears_a_bell_that_rang_before_they_waited() {
        let bell = Bell::default();
        let (mut one, mut other) = (bell.listen(), bell.listen());
        bell.ring();
        bell.ring();
        let long = Duration::from_hours(1);
        tokio::time::timeout(Duration::from_secs(10), one.wait(long)).await.unwrap();
        tokio::time::timeout(Duration::from_secs(10), other.wait(long)).await.unwrap();
        assert!(!one.0.has_changed().unwrap(), "rung twice it is heard once");
    }
}
