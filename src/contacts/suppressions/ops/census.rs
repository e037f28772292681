//! How large the ledgers are, for the metrics.

use std::{collections::HashMap, time::Duration};

use sqlx::PgPool;
use supervisor::Heartbeat;

use crate::suppressions::{
    model::{Ledger, Reason},
    store,
};

/// Rest between two counts; each reads an index from end to end.
const COUNT_EVERY: Duration = Duration::from_mins(1);
/// Rest after a count that failed, as before the schema is there.
const COUNT_AGAIN: Duration = Duration::from_secs(1);

/// Counts the ledgers until it is dropped.
pub async fn watch(db: PgPool, heartbeat: Heartbeat) {
    loop {
        heartbeat.beat();
        let rest = match store::entries::count(&db).await {
            Ok(sizes) => {
                tell(&sizes);
                COUNT_EVERY
            }
            Err(error) => {
                tracing::debug!(%error, "cannot count the suppressions");
                COUNT_AGAIN
            }
        };
        heartbeat.waiting(tokio::time::sleep(rest)).await;
    }
}

/// Every channel and reason is told, so that what is gone shows as zero.
fn tell(sizes: &[(Ledger, Reason, u64)]) {
    let sizes: HashMap<_, _> =
        sizes.iter().map(|(ledger, reason, size)| ((*ledger, *reason), *size)).collect();
    for (channel, ledger) in Ledger::NAMED {
        for (name, reason) in Reason::NAMED {
            if *reason == Reason::HardBounce && *ledger != Ledger::Email {
                continue; // only addresses bounce
            }
            let size = sizes.get(&(*ledger, *reason)).copied().unwrap_or_default();
            let size = f64::from(u32::try_from(size).unwrap_or(u32::MAX));
            metrics_catalogue::SUPPRESSION_ROWS.with([*channel, *name]).set(size);
        }
    }
}
