//! What has to be done about messages besides sending them: those whose sender died, those that were
//! called off, runs that are over.

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};

use super::{lifecycle, send::channel_fault};
use crate::{
    DeliveryState,
    model::claimed::{Claimed, MessageStatus},
    store::{
        claims::{self, Mark},
        limits, runs,
        scope::{DuePage, ExpiredPage, MessageScope, RunKey},
        short_links,
    },
};

/// Messages of one transaction.
const PAGE: i64 = 2_000;
/// Runs ended in one look.
const RUNS_MAX: i64 = 100;
/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;
/// Hours a short link leads somewhere: a year, and the month in which people still look.
const SHORT_LINK_HOURS: i64 = 400 * 24;

/// Settles messages whose sender did not come back: they may have left, so they are not sent again.
///
/// # Errors
/// When a store is away.
pub(crate) async fn lapse(app: &DeliveryState) -> Result<()> {
    let reason = "the sender stopped while it handed the message over".to_owned();
    let status = MessageStatus::Unknown { reason };
    loop {
        let now = app.clock().now();
        let mut tx = app.db().begin().await?;
        let lapsed = claims::lapsed(&mut tx, DuePage { now, limit: PAGE }).await?;
        if lapsed.is_empty() {
            return Ok(());
        }
        tracing::warn!(messages = lapsed.len(), "the outcome of messages in flight is unknown");
        settle(app, tx, (&lapsed, &status), now).await?;
    }
}

/// Settles the messages of a campaign that was called off.
///
/// # Errors
/// When a store is away.
pub(crate) async fn cancel(
    app: &DeliveryState,
    workspace: WorkspaceId,
    campaign: CampaignId,
) -> Result<()> {
    loop {
        let now = app.clock().now();
        let mut tx = app.db().begin().await?;
        let scope = MessageScope { workspace, campaign, occurrence: None };
        let waiting = claims::waiting(&mut tx, scope, PAGE).await?;
        if waiting.is_empty() {
            return Ok(());
        }
        settle(app, tx, (&waiting, &MessageStatus::Cancelled), now).await?;
    }
}

async fn settle(
    app: &DeliveryState,
    mut tx: sqlx::Transaction<'_, sqlx::Postgres>,
    (messages, status): (&[Claimed], &MessageStatus),
    now: Timestamp,
) -> Result<()> {
    let events = messages.iter().filter_map(|message| lifecycle::of_status(message, status));
    lifecycle::publish(app, &events.collect::<Vec<_>>(), now).await?;
    let marks: Vec<Mark<'_>> = messages.iter().map(|message| Mark { message, status }).collect();
    claims::update_statuses(&mut tx, &marks).await?;
    Ok(tx.commit().await?)
}

/// Ends runs in which everyone is settled, and the campaigns that have no other.
///
/// # Errors
/// When a store is away.
pub(crate) async fn complete(app: &DeliveryState) -> Result<()> {
    for run in runs::settled(app.db(), RUNS_MAX).await? {
        let RunKey { workspace, campaign, occurrence } = run;
        // Its last messages may have been settled a moment before they could be judged.
        channel_fault::end(app, workspace, campaign).await?;
        // The campaign first: should this process end in between, the run is found again.
        if campaigns::ops::settle(app, workspace, campaign, occurrence).await? {
            runs::complete(app.db(), run, app.clock().now()).await?;
        }
    }
    Ok(())
}

/// Forgets what no frequency cap looks back to, and short links that nobody follows any more.
///
/// # Errors
/// When the store is away.
pub(crate) async fn forget(app: &DeliveryState) -> Result<()> {
    let now = app.clock().now();
    let before = |hours: i64| Timestamp::from_millis(now.millis() - hours * HOUR_MS);
    let mut connection = app.db().acquire().await?;
    let page = |before: Timestamp| ExpiredPage { before, limit: PAGE };
    let of_caps = before(i64::from(config::CAP_HOURS_MAX) + 1);
    while limits::delete_sends(&mut connection, page(of_caps)).await? > 0 {}
    drop(connection);
    while short_links::delete(app.db(), page(before(SHORT_LINK_HOURS))).await? > 0 {}
    Ok(())
}
