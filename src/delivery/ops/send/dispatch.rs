//! One batch of one send queue, from the claim to the provider's answer.
//!
//! ```text
//! transaction: claim ─▶ eligibility, caps, rate ─▶ render ─▶ publish settled messages ─▶ mark `sending`
//! then: provider ─▶ publish ─▶ record the outcome
//! ```
//!
//! A crash before the commit has no effect. After it, the leases of marked messages expire and their outcome is
//! unknown: they are never sent a second time.

use std::{collections::BTreeMap, time::Duration};

use campaigns::model::CampaignKey;
use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use web::links::Signer;

use super::{
    campaign_context::{CampaignContext, CampaignContexts, channels_of},
    channel_fault,
    eligibility::{CheckedBatch, Eligibility, count_skip},
    provider_call,
    terms::Terms,
    volume::{self, VolumeDecision},
};
use crate::{
    DeliveryState,
    model::claimed::{Claimed, MessageStatus, ReadyMessage, SettledMessage},
    ops::{
        channels::{self, ChannelAvailability},
        lifecycle,
        queues::{BatchReport, SendQueue},
    },
    store::{
        self,
        claims::{self, Mark},
        limits::{self, PaceRequest},
        runs,
        scope::{DuePage, MessageScope},
    },
};

/// Sends one batch of a queue, of at most `size` messages.
///
/// # Errors
/// When a store is unavailable.
pub(crate) async fn send_next(
    app: &DeliveryState,
    contexts: &CampaignContexts,
    queue: SendQueue,
    size: usize,
) -> Result<BatchReport> {
    let began = std::time::Instant::now();
    let mut report = match queue {
        SendQueue::Outbox => outbox(app, size).await?,
        SendQueue::Campaign(workspace, campaign) => {
            campaign_batch(app, contexts, CampaignKey { workspace, id: campaign }, size).await?
        }
    };
    report.took = began.elapsed();
    Ok(report)
}

/// The outcome of the transaction of a batch.
struct Prepared {
    ready: Vec<ReadyMessage>,
    claimed: usize,
    waits: Option<Timestamp>,
}

impl Prepared {
    /// Nothing is to be sent now, or before this time.
    const fn nothing(waits: Option<Timestamp>) -> Self {
        Self { ready: Vec::new(), claimed: 0, waits }
    }
}

async fn outbox(app: &DeliveryState, size: usize) -> Result<BatchReport> {
    let now = app.clock().now();
    let signer = app.links().signer(now).await?;
    let page = DuePage { now, limit: i64::try_from(size).unwrap_or(i64::MAX) };
    let channels = channels::of_outbox(app).await?;
    let mut tx = app.db().begin().await?;
    let claimed = claims::of_outbox(&mut tx, &channels, page).await?;
    let count = claimed.len();
    let mut by_workspace = BTreeMap::<WorkspaceId, Vec<Claimed>>::new();
    for message in claimed {
        by_workspace.entry(message.workspace).or_default().push(message);
    }
    let (mut ready, mut settled) = (Vec::new(), Vec::new());
    for (workspace, batch) in by_workspace {
        let (connection, signer) = (&mut *tx, &signer);
        let check = Eligibility { app, connection, workspace, campaign_context: None, signer, now };
        let checked = check.check(batch).await?;
        ready.extend(checked.ready);
        settled.extend(checked.settled);
    }
    update_statuses(app, &mut tx, &ready, &settled, now).await?;
    tx.commit().await?;
    let terms = Terms::of_outbox();
    provider_call::send_batch(app, ready, terms).await?;
    Ok(BatchReport { claimed: count, asked: size, ..BatchReport::default() })
}

async fn campaign_batch(
    app: &DeliveryState,
    contexts: &CampaignContexts,
    key: CampaignKey,
    size: usize,
) -> Result<BatchReport> {
    let CampaignKey { workspace, id } = key;
    let Some(revision) = sending(app, workspace, id).await? else {
        return Ok(BatchReport::default());
    };
    let campaign_context = contexts.of(app, key, revision).await?;
    let channels = match channels::of(app, &channels_of(&campaign_context.campaign)).await? {
        ChannelAvailability::Here => None,
        ChannelAvailability::Partly(channels) => Some(channels),
        ChannelAvailability::Elsewhere => return Ok(BatchReport::default()),
        ChannelAvailability::Nowhere(fault) => {
            campaigns::ops::give_up(app, workspace, id, &fault).await?;
            return Ok(BatchReport::default());
        }
    };
    if let Some(fault) = campaign_context.fault() {
        campaigns::ops::give_up(app, workspace, id, &fault).await?;
        return Ok(BatchReport::default());
    }
    let signer = app.links().signer(app.clock().now()).await?;
    let prepared = prepare(app, &campaign_context, &signer, channels.as_deref(), size).await?;
    let report = BatchReport {
        claimed: prepared.claimed,
        asked: size,
        wait_until: prepared.waits,
        ..BatchReport::default()
    };
    if !prepared.ready.is_empty() {
        let terms = Terms::of_campaign(&campaign_context);
        let done = provider_call::send_batch(app, prepared.ready, terms).await?;
        if done.iter().any(|it| channel_fault::is_shown_by(&it.status)) {
            channel_fault::end(app, workspace, id).await?;
        }
    }
    Ok(report)
}

/// The revision of a campaign that sends.
async fn sending(
    app: &DeliveryState,
    workspace: WorkspaceId,
    id: CampaignId,
) -> Result<Option<i64>> {
    let mut connection = app.db().acquire().await?;
    campaigns::ops::sending(&mut connection, workspace, id).await
}

async fn prepare(
    app: &DeliveryState,
    campaign_context: &CampaignContext,
    signer: &Signer,
    channels: Option<&[&'static str]>,
    size: usize,
) -> Result<Prepared> {
    let now = app.clock().now();
    let CampaignKey { workspace, id } = campaign_context.key();
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let mut tx = app.db().begin().await?;
    let (occurrence, mut limit, is_counted) =
        match volume::decide(&mut tx, campaign_context, now, size).await? {
            VolumeDecision::Send { occurrence, max, is_counted } => (occurrence, max, is_counted),
            VolumeDecision::Wait => return Ok(Prepared::nothing(None)),
            VolumeDecision::Refilled => {
                if may_send(&mut tx, campaign_context).await? {
                    tx.commit().await?;
                }
                return Ok(Prepared::nothing(None));
            }
            VolumeDecision::UsedUp(beyond) => {
                return skip_beyond_limit(app, tx, campaign_context, beyond).await;
            }
        };
    let mut pace = None;
    if let Some(per_minute) = campaign_context.rate {
        let request = PaceRequest { campaign: id, per_minute, now, wanted: limit };
        let taken = limits::take_pace(&mut tx, workspace, request).await?;
        if taken.taken < 1 {
            return Ok(Prepared::nothing(Some(taken.next(now))));
        }
        limit = taken.taken;
        pace = Some(taken);
    }
    let scope = MessageScope { workspace, campaign: id, occurrence };
    let page = DuePage { now, limit };
    let claimed = claims::of_campaign(&mut tx, scope, channels, page).await?;
    if !may_send(&mut tx, campaign_context).await? {
        return Ok(Prepared::nothing(None));
    }
    if claimed.is_empty() {
        if volume::release(&mut tx, campaign_context).await? {
            tx.commit().await?;
        }
        return Ok(Prepared::nothing(None));
    }
    let count = claimed.len();
    let connection = &mut *tx;
    let check = Eligibility {
        app,
        connection,
        workspace,
        campaign_context: Some(campaign_context),
        signer,
        now,
    };
    let CheckedBatch { ready, settled, waits, held_back } = check.check(claimed).await?;
    if is_counted {
        let sent: Vec<i32> = ready.iter().map(|it| it.message.occurrence).collect();
        store::volume::reserve(&mut tx, workspace, id, &sent).await?;
    }
    update_statuses(app, &mut tx, &ready, &settled, now).await?;
    if let Some(pace) = pace {
        limits::use_pace(&mut tx, workspace, id, pace, ready.len() + held_back).await?;
    }
    tx.commit().await?;
    // Waiting messages are not claimed while others are released.
    let waits = waits.filter(|_| ready.is_empty() && settled.is_empty());
    Ok(Prepared { ready, claimed: count, waits })
}

/// Reads the campaign again after the claim, so that an earlier halt takes effect. In a retry, failed messages are
/// queued again first, when no message is in flight any more.
async fn may_send(tx: &mut sqlx::PgConnection, campaign_context: &CampaignContext) -> Result<bool> {
    let CampaignKey { workspace, id } = campaign_context.key();
    Ok(campaigns::ops::sending(tx, workspace, id).await?.is_some()
        && !runs::is_retried(&mut *tx, workspace, id).await?)
}

/// Skips messages beyond the volume limit.
async fn skip_beyond_limit(
    app: &DeliveryState,
    mut tx: sqlx::Transaction<'_, sqlx::Postgres>,
    campaign_context: &CampaignContext,
    beyond: Vec<Claimed>,
) -> Result<Prepared> {
    if beyond.is_empty() || !may_send(&mut tx, campaign_context).await? {
        return Ok(Prepared::nothing(None));
    }
    let claimed = beyond.len();
    let status = volume::beyond(campaign_context);
    let settled: Vec<SettledMessage> = beyond
        .into_iter()
        .map(|message| {
            if message.is_control {
                let message = campaign_context.control_of(message);
                SettledMessage { message, status: MessageStatus::Control }
            } else {
                SettledMessage { message, status: status.clone() }
            }
        })
        .collect();
    update_statuses(app, &mut tx, &[], &settled, app.clock().now()).await?;
    tx.commit().await?;
    Ok(Prepared { ready: Vec::new(), claimed, waits: None })
}

/// Marks a batch: settled messages are published first, the others belong to their sender from the commit on. Waits
/// for an fsync of the spool while the claimed rows are locked.
async fn update_statuses(
    app: &DeliveryState,
    tx: &mut sqlx::PgConnection,
    ready: &[ReadyMessage],
    settled: &[SettledMessage],
    now: Timestamp,
) -> Result<()> {
    let events = settled.iter().filter_map(|it| lifecycle::of_status(&it.message, &it.status));
    lifecycle::publish(app, &events.collect::<Vec<_>>(), now).await?;
    let lease = Duration::from_secs(u64::from(app.delivery().lease_seconds));
    let sending = MessageStatus::Sending { until: now.after(lease) };
    let to_send = ready.iter().map(|it| Mark { message: &it.message, status: &sending });
    let others = settled.iter().map(|it| Mark { message: &it.message, status: &it.status });
    let marks: Vec<Mark<'_>> = to_send.chain(others).collect();
    claims::update_statuses(tx, &marks).await?;
    for it in settled {
        if let MessageStatus::Skipped(skip) | MessageStatus::Held { skip, .. } = &it.status {
            count_skip(skip.reason);
        }
    }
    Ok(())
}
