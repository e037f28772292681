//! Background work of authentication: follows changes of keys, stores their last uses.

use std::{pin::pin, sync::Arc, time::Duration};

use kernel::Timestamp;
use sqlx::postgres::PgListener;
use supervisor::Heartbeat;
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};

use super::{
    Auth,
    credential::Credential,
    store::{self, KeyUse},
};

/// Interval of reading the counter of changes: half of the second in which a revocation takes effect.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// Timeout of one such read, so that a hanging connection does not stop the polling.
const POLL_MAX: Duration = Duration::from_millis(450);
/// Interval of storing last uses.
const STORE_USES_INTERVAL: Duration = Duration::from_mins(1);
/// Timeout of storing them.
const STORE_USES_MAX: Duration = Duration::from_secs(5);
/// Pause before listening again after the connection was lost.
const LISTEN_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The channel of notifications.
const CHANNEL: &str = "millrace_auth";

impl Auth {
    /// Follows changes of keys until `shutdown` resolves. Must be spawned once.
    pub async fn watch(self, heartbeat: Heartbeat, shutdown: impl Future<Output = ()> + Send) {
        let changed = Notify::new();
        let mut shutdown = pin!(shutdown);
        tokio::select! {
            () = &mut shutdown => {}
            () = self.listen(&changed) => {}
            () = self.follow(&changed, &heartbeat) => {}
        }
        self.store_uses().await;
    }

    /// Turns notifications into wake-ups. A lost connection counts as a notification, because some may have been
    /// missed.
    async fn listen(&self, changed: &Notify) {
        loop {
            if let Err(fault) = self.listen_until_lost(changed).await {
                tracing::debug!(error = %fault, "not listening for changes of keys");
            }
            changed.notify_one();
            sleep(LISTEN_AGAIN_AFTER).await;
        }
    }

    async fn listen_until_lost(&self, changed: &Notify) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(&self.0.pool).await?;
        listener.listen(CHANNEL).await?;
        changed.notify_one();
        while listener.try_recv().await?.is_some() {
            changed.notify_one();
        }
        Ok(())
    }

    /// Reads the counter of changes, and refreshes the cached keys when it has changed.
    async fn follow(&self, changed: &Notify, heartbeat: &Heartbeat) {
        let mut polls = interval(POLL_EVERY);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = None;
        let mut is_lost = false;
        let mut noted = Instant::now();
        loop {
            heartbeat.beat();
            tokio::select! {
                _ = polls.tick() => {}
                () = changed.notified() => {}
            }
            // A key that enters an empty cache is fresh; changes matter from then on.
            if self.0.cache.is_empty() {
                seen = None;
                continue;
            }
            let asked = timeout(POLL_MAX, self.refresh_if_moved(seen)).await;
            let fault = match asked {
                Ok(Ok(revision)) => {
                    seen = Some(revision);
                    None
                }
                Ok(Err(fault)) => Some(fault.to_string()),
                Err(_) => Some("no answer in time".to_owned()),
            };
            log_change(&mut is_lost, fault);
            if noted.elapsed() >= STORE_USES_INTERVAL {
                self.store_uses().await;
                noted = Instant::now();
            }
        }
    }

    async fn refresh_if_moved(&self, seen: Option<i64>) -> Result<i64, sqlx::Error> {
        let begun = std::time::Instant::now();
        let revision = store::revision(&self.0.pool).await?;
        if seen == Some(revision) {
            self.0.cache.confirm(begun);
            return Ok(revision);
        }
        let asked = self.0.cache.begin_refresh();
        let alive = store::live_keys(&self.0.pool, &asked).await?;
        self.0.cache.end_refresh(begun, &asked, alive);
        Ok(revision)
    }

    async fn store_uses(&self) {
        let uses = self.0.cache.take_uses();
        if uses.is_empty() {
            return;
        }
        let used = |(key, at): &(Arc<Credential>, Timestamp)| KeyUse {
            key: key.id,
            workspace: key.workspace,
            at: *at,
        };
        let rows: Vec<_> = uses.iter().map(used).collect();
        let written = timeout(STORE_USES_MAX, store::store_uses(&self.0.pool, &rows)).await;
        if !matches!(written, Ok(Ok(()))) {
            tracing::debug!(keys = uses.len(), "last uses of keys were not written down");
            for (key, at) in uses {
                key.used_ms.restore_if_unused(at);
            }
        }
    }
}

/// Logs when following begins to fail and when it works again, not every failure between.
fn log_change(is_lost: &mut bool, fault: Option<String>) {
    match fault {
        Some(fault) if !*is_lost => {
            tracing::warn!(
                error = fault,
                "cannot follow changes of keys: known ones keep working for a time"
            );
            *is_lost = true;
        }
        None if *is_lost => {
            tracing::info!("following changes of keys again");
            *is_lost = false;
        }
        Some(_) | None => {}
    }
}
