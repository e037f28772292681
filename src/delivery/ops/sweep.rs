//! Periodic work on messages besides sending: expired leases, cancelled messages, completed runs, retention.

use std::time::Duration;

use campaigns::model::variant::Variant;
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
/// Runs completed in one pass.
const RUNS_MAX: i64 = 100;
/// How long a short link works: a year and a month.
const SHORT_LINK_MAX: Duration = Duration::from_hours(400 * 24);

/// Settles messages whose lease expired during the send: they may have been sent, so they are not sent again.
///
/// # Errors
/// When a store is unavailable.
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
        settle(app, &mut tx, &lapsed, &status, now).await?;
        tx.commit().await?;
    }
}

/// Settles the messages of a cancelled campaign. Its control group counts as one from then on, as the others count where
/// they were assigned.
///
/// # Errors
/// When a store is unavailable.
pub(crate) async fn cancel(
    app: &DeliveryState,
    workspace: WorkspaceId,
    campaign: CampaignId,
) -> Result<()> {
    let variants = campaigns::ops::find(app, workspace, campaign).await?.definition.variants;
    let control = variants.into_iter().find(Variant::is_control).map(|variant| variant.id);
    loop {
        let now = app.clock().now();
        let mut tx = app.db().begin().await?;
        let scope = MessageScope { workspace, campaign, occurrence: None };
        let waiting = claims::waiting(&mut tx, scope, PAGE).await?;
        if waiting.is_empty() {
            return Ok(());
        }
        let (mut held_back, others): (Vec<Claimed>, Vec<Claimed>) =
            waiting.into_iter().partition(|message| message.is_control);
        for message in &mut held_back {
            message.variant.clone_from(&control);
        }
        settle(app, &mut tx, &held_back, &MessageStatus::Control, now).await?;
        settle(app, &mut tx, &others, &MessageStatus::Cancelled, now).await?;
        tx.commit().await?;
    }
}

async fn settle(
    app: &DeliveryState,
    connection: &mut sqlx::PgConnection,
    messages: &[Claimed],
    status: &MessageStatus,
    now: Timestamp,
) -> Result<()> {
    let events = messages.iter().filter_map(|message| lifecycle::of_status(message, status));
    lifecycle::publish(app, &events.collect::<Vec<_>>(), now).await?;
    let marks: Vec<Mark<'_>> = messages.iter().map(|message| Mark { message, status }).collect();
    claims::update_statuses(connection, &marks).await
}

/// Completes runs whose messages are all settled, and campaigns without another run.
///
/// # Errors
/// When a store is unavailable.
pub(crate) async fn complete(app: &DeliveryState) -> Result<()> {
    for run in runs::settled(app.db(), RUNS_MAX).await? {
        let RunKey { workspace, campaign, occurrence } = run;
        // Its last messages may have been settled after the last check of the campaign's failures.
        channel_fault::end(app, workspace, campaign).await?;
        // The campaign first: if this process ends in between, the run is found again.
        if campaigns::ops::settle(app, workspace, campaign, occurrence).await? {
            runs::complete(app.db(), run, app.clock().now()).await?;
        }
    }
    Ok(())
}

/// Deletes the counts that are older than every frequency cap, and expired short links.
///
/// # Errors
/// When the store is unavailable.
pub(crate) async fn forget(app: &DeliveryState) -> Result<()> {
    let now = app.clock().now();
    let mut connection = app.db().acquire().await?;
    let page = |before: Timestamp| ExpiredPage { before, limit: PAGE };
    let of_caps = now.before(Duration::from_hours(u64::from(config::CAP_HOURS_MAX) + 1));
    while limits::delete_sends(&mut connection, page(of_caps)).await? > 0 {}
    drop(connection);
    while short_links::delete(app.db(), page(now.before(SHORT_LINK_MAX))).await? > 0 {}
    Ok(())
}
