//! Statements whose answer is given up: the caller has gone, or the time is over. ClickHouse may still run them then.
//!
//! Each statement has an id. Closing its connection stops it in the embedded engine, and `KILL QUERY` in any other.
//! ClickHouse refuses a statement under the id of one that runs, and so says when that one has ended.

use std::{any::Any, sync::Arc, time::Duration};

use clickhouse::{Client, error::Error};
use tokio::{
    runtime::Handle,
    sync::OwnedSemaphorePermit,
    time::{sleep, timeout},
};
use uuid::Uuid;

use crate::error::exception_code;

const KILL: &str = include_str!("sql/kill.sql");
/// A statement for the sake of its id.
const PROBE: &str = "SELECT 1";
/// The setting that names a statement.
const ID: &str = "query_id";
/// ClickHouse's number of `QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING`.
const STILL_RUNS: u32 = 216;
/// First pause between looks whether a statement has ended; each is twice as long as the one before.
const LOOK_FIRST: Duration = Duration::from_millis(50);
/// The longest pause between looks.
const LOOK_LAST: Duration = Duration::from_secs(2);
/// How long a kill is waited for: in a busy embedded engine it waits for others, and is not needed.
const KILL_WITHIN: Duration = Duration::from_millis(500);
/// How long its permits are kept for a statement of which ClickHouse does not say that it has ended.
const ENDS_WITHIN: Duration = Duration::from_mins(1);

/// What is kept as long as a statement runs; clones keep the same.
pub(crate) type Kept = Option<Arc<dyn Any + Send + Sync>>;

/// Waits until a statement that was given up has ended, and stops it.
pub async fn until_ended(client: &Client, id: &str) {
    let mut pause = LOOK_FIRST;
    loop {
        let probe = client.query_raw(PROBE).with_setting(ID, id);
        match probe.fetch_one::<u8>().await {
            Ok(_) => return,
            Err(Error::BadResponse(text)) if exception_code(&text) == Some(STILL_RUNS) => {
                let kill = client.query_raw(KILL).param("id", id).execute();
                if let Ok(Err(error)) = timeout(KILL_WITHIN, kill).await {
                    tracing::debug!(id, %error, "a statement that was given up cannot be stopped");
                }
            }
            Err(error) => {
                tracing::debug!(id, %error, "whether a statement has ended is not known");
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(LOOK_LAST);
    }
}

/// A statement in ClickHouse. When it is dropped before its end, it is stopped, and what is kept for it is kept until it
/// has ended.
pub(crate) struct Running {
    client: Client,
    id: String,
    /// None once it has ended.
    kept: Option<(OwnedSemaphorePermit, Kept)>,
}

/// The id of a new statement.
pub(crate) fn new_id() -> String {
    Uuid::new_v4().to_string()
}

/// The query under an id.
pub(crate) fn with_id(query: clickhouse::query::Query, id: &str) -> clickhouse::query::Query {
    query.with_setting(ID, id)
}

impl Running {
    /// A statement that is sent now. The client needs no database.
    pub(crate) fn new(client: Client, id: String, place: OwnedSemaphorePermit, kept: Kept) -> Self {
        Self { client, id, kept: Some((place, kept)) }
    }

    /// Says that it was answered to its end, or refused.
    pub(crate) fn end(&mut self) {
        self.kept = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(kept) = self.kept.take() else { return };
        // There is no runtime when the process ends, and then no embedded engine either.
        let Ok(runtime) = Handle::try_current() else { return };
        let (client, id) = (self.client.clone(), std::mem::take(&mut self.id));
        runtime.spawn(async move {
            if timeout(ENDS_WITHIN, until_ended(&client, &id)).await.is_err() {
                tracing::warn!(id, "a statement that was given up may still run");
            }
            drop(kept);
        });
    }
}
