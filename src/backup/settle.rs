//! What is changed in a restored database before anything may run on it.

use kernel::Timestamp;
use sqlx::PgConnection;

/// What was changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settled {
    /// Campaigns that are paused.
    pub(crate) paused: u64,
    /// Single messages and confirmations that will not leave.
    pub(crate) given_up: u64,
}

/// Messages that left after the backup was made are not known, and none may leave twice: campaigns wait for a person,
/// and what was about to leave does not. Copies in ClickHouse are made anew.
pub(crate) async fn settle(
    connection: &mut PgConnection,
    now: Timestamp,
) -> anyhow::Result<Settled> {
    let paused = campaigns::ops::pause_restored(connection, now).await?;
    let given_up = delivery::ops::restored::give_up(connection, now).await?;
    identity::ops::mirror::restart(connection).await?;
    people_mirror::ops::request_rebuild(connection).await?;
    Ok(Settled { paused, given_up })
}
