//! Measures the sizes of the ledgers.

use std::{collections::HashMap, time::Duration};

use sqlx::PgPool;
use supervisor::Heartbeat;

use crate::{
    model::{Ledger, LedgerSize, Reason},
    store,
};

/// Pause between two counts; each scans a whole index.
const COUNT_EVERY: Duration = Duration::from_mins(1);
/// Pause after a count that failed, for example before the schema exists.
const COUNT_AGAIN: Duration = Duration::from_secs(1);

/// Counts the ledgers until it is dropped.
pub async fn watch(db: PgPool, heartbeat: Heartbeat) {
    loop {
        heartbeat.beat();
        let rest = match store::entries::count(&db).await {
            Ok(sizes) => {
                set_gauges(&sizes);
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

/// Sets the gauge for every channel and reason, so that it falls to zero when there are no rows.
fn set_gauges(sizes: &[LedgerSize]) {
    let sizes: HashMap<_, _> =
        sizes.iter().map(|size| ((size.ledger, size.reason), size.rows)).collect();
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
