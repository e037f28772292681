//! The transaction that an audience is read in, and the permits to read it.

use std::sync::Arc;

use kernel::Result;
use sqlx::{PgConnection, Postgres, Transaction};
use tokio::{runtime::Handle, sync::OwnedSemaphorePermit};
use web::shares::SharePermit;

/// The permits of one audience. The stores run a statement on whose caller has gone, so they are kept until it has ended.
#[derive(Debug)]
pub(super) struct Permits {
    _events: Option<OwnedSemaphorePermit>,
    _scan: Option<SharePermit>,
}

impl Permits {
    pub(super) fn new(events: Option<OwnedSemaphorePermit>, scan: Option<SharePermit>) -> Self {
        Self { _events: events, _scan: scan }
    }
}

/// A transaction. When it is dropped while a statement runs, its permits are kept until PostgreSQL has ended that.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// None once it is over.
    tx: Option<Transaction<'static, Postgres>>,
    permits: Arc<Permits>,
}

impl Snapshot {
    pub(super) fn new(tx: Transaction<'static, Postgres>, permits: Arc<Permits>) -> Self {
        Self { tx: Some(tx), permits }
    }

    pub(super) fn connection(&mut self) -> &mut PgConnection {
        self.tx.as_mut().expect("only `close` and dropping it take the transaction")
    }

    /// Ends the transaction of the snapshot.
    pub(super) async fn close(mut self) -> Result<()> {
        match self.tx.take() {
            Some(tx) => Ok(tx.rollback().await?),
            None => Ok(()),
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let Some(tx) = self.tx.take() else { return };
        // There is no runtime when the process ends.
        let Ok(runtime) = Handle::try_current() else { return };
        let permits = Arc::clone(&self.permits);
        runtime.spawn(async move {
            // It waits for the answer to the statement before.
            if let Err(error) = tx.rollback().await {
                tracing::debug!(%error, "the transaction of an audience ended otherwise");
            }
            drop(permits);
        });
    }
}
