//! One batch of one lane, from the claim to the provider's answer.
//!
//! ```text
//! transaction: claim ─▶ eligibility, caps, rate ─▶ render ─▶ tell what stays behind ─▶ mark `sending`
//! then: provider ─▶ tell ─▶ keep the outcome
//! ```
//!
//! A crash before the commit leaves nothing behind. After it, what was marked lapses and is unknown: it is
//! never handed over a second time.

use std::collections::BTreeMap;

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use providers::model::Outgoing;
use web::links::Signer;

use super::{
    campaign_context::{CampaignContext, CampaignContexts, channels_of},
    channel_fault,
    eligibility::{CheckedBatch, Eligibility},
    provider_call::{self, Terms},
    volume::{self, Turn},
};
use crate::{
    DeliveryState,
    model::{
        claimed::{Claimed, MessageStatus},
        skip::SkipReason,
    },
    ops::{
        channels::{self, Carried},
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

/// Sends one batch of a lane, of so many messages at most.
///
/// # Errors
/// When a store is away.
pub(crate) async fn send_next(
    app: &DeliveryState,
    contexts: &CampaignContexts,
    queue: SendQueue,
    size: usize,
) -> Result<BatchReport> {
    let began = std::time::Instant::now();
    let mut round = match queue {
        SendQueue::Outbox => outbox(app, size).await?,
        SendQueue::Campaign(workspace, campaign) => {
            campaign_batch(app, contexts, (workspace, campaign), size).await?
        }
    };
    round.took = began.elapsed();
    Ok(round)
}

/// Messages to be handed over.
type Ready = Vec<(Claimed, Outgoing)>;
/// Messages that are not, or not now.
type Settled = Vec<(Claimed, MessageStatus)>;

/// What a transaction made of a batch.
struct Prepared {
    ready: Vec<(Claimed, Outgoing)>,
    claimed: usize,
    waits: Option<Timestamp>,
}

impl Prepared {
    /// Nothing is to be sent now, and not before this time where there is one.
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
    update_statuses(app, &mut tx, (&ready, &settled), now).await?;
    tx.commit().await?;
    let terms = Terms::of_outbox();
    provider_call::send_batch(app, ready, terms).await?;
    Ok(BatchReport { claimed: count, asked: size, ..BatchReport::default() })
}

async fn campaign_batch(
    app: &DeliveryState,
    contexts: &CampaignContexts,
    (workspace, id): (WorkspaceId, CampaignId),
    size: usize,
) -> Result<BatchReport> {
    let Some(revision) = sending(app, workspace, id).await? else {
        return Ok(BatchReport::default());
    };
    let campaign_context = contexts.of(app, (workspace, id), revision).await?;
    let channels = match channels::of(app, &channels_of(&campaign_context.campaign)).await? {
        Carried::Here => None,
        Carried::Partly(channels) => Some(channels),
        Carried::Elsewhere => return Ok(BatchReport::default()),
        Carried::Nowhere(fault) => {
            campaigns::ops::give_up(app, workspace, id, &fault).await?;
            return Ok(BatchReport::default());
        }
    };
    if let Some(fault) = campaign_context.fault() {
        campaigns::ops::give_up(app, workspace, id, &fault).await?;
        return Ok(BatchReport::default());
    }
    let signer = app.links().signer(app.clock().now()).await?;
    let batch = (channels.as_deref(), size);
    let prepared = prepare(app, (workspace, &campaign_context), &signer, batch).await?;
    let round = BatchReport {
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
    Ok(round)
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
    (workspace, campaign_context): (WorkspaceId, &CampaignContext),
    signer: &Signer,
    (channels, size): (Option<&[&'static str]>, usize),
) -> Result<Prepared> {
    let now = app.clock().now();
    let id = campaign_context.campaign.id;
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let mut tx = app.db().begin().await?;
    let (occurrence, mut limit, is_counted) =
        match volume::turn(&mut tx, (workspace, campaign_context), (now, size)).await? {
            Turn::Send { occurrence, max, is_counted } => (occurrence, max, is_counted),
            Turn::Wait => return Ok(Prepared::nothing(None)),
            Turn::Refilled => {
                if may_send(&mut tx, (workspace, id)).await? {
                    tx.commit().await?;
                }
                return Ok(Prepared::nothing(None));
            }
            Turn::UsedUp(beyond) => {
                return leave_out(app, tx, (workspace, campaign_context), (beyond, now)).await;
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
    if !may_send(&mut tx, (workspace, id)).await? {
        return Ok(Prepared::nothing(None));
    }
    if claimed.is_empty() {
        if volume::release(&mut tx, (workspace, campaign_context)).await? {
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
    let CheckedBatch { ready, settled, waits } = check.check(claimed).await?;
    if is_counted {
        let sent: Vec<i32> = ready.iter().map(|(message, _)| message.occurrence).collect();
        store::volume::reserve(&mut tx, workspace, id, &sent).await?;
    }
    update_statuses(app, &mut tx, (&ready, &settled), now).await?;
    if let Some(pace) = pace {
        limits::use_pace(&mut tx, workspace, id, pace, ready.len()).await?;
    }
    tx.commit().await?;
    // While others are moved along, those who wait need no asking.
    let waits = waits.filter(|_| ready.is_empty() && settled.is_empty());
    Ok(Prepared { ready, claimed: count, waits })
}

/// Asked once more behind the claim, so that who halted the campaign before this is heeded. Of one that is tried
/// again, what failed is put in line first, when nothing is in flight any more.
async fn may_send(
    tx: &mut sqlx::PgConnection,
    (workspace, id): (WorkspaceId, CampaignId),
) -> Result<bool> {
    Ok(campaigns::ops::sending(tx, workspace, id).await?.is_some()
        && !runs::is_retried(&mut *tx, workspace, id).await?)
}

/// Skips messages beyond the volume limit.
async fn leave_out(
    app: &DeliveryState,
    mut tx: sqlx::Transaction<'_, sqlx::Postgres>,
    (workspace, campaign_context): (WorkspaceId, &CampaignContext),
    (beyond, now): (Vec<Claimed>, Timestamp),
) -> Result<Prepared> {
    if beyond.is_empty() || !may_send(&mut tx, (workspace, campaign_context.campaign.id)).await? {
        return Ok(Prepared::nothing(None));
    }
    let claimed = beyond.len();
    let settled =
        beyond.into_iter().map(|message| (message, volume::beyond(campaign_context))).collect();
    update_statuses(app, &mut tx, (&Vec::new(), &settled), now).await?;
    tx.commit().await?;
    Ok(Prepared { ready: Vec::new(), claimed, waits: None })
}

/// Marks a batch: what stays behind is told of first, the rest is in its sender's hands from the commit on.
async fn update_statuses(
    app: &DeliveryState,
    tx: &mut sqlx::PgConnection,
    (ready, settled): (&Ready, &Settled),
    now: Timestamp,
) -> Result<()> {
    let events =
        settled.iter().filter_map(|(message, status)| lifecycle::of_status(message, status));
    lifecycle::publish(app, &events.collect::<Vec<_>>(), now).await?;
    let lease = i64::from(app.delivery().lease_seconds) * 1000;
    let sending = MessageStatus::Sending { until: Timestamp::from_millis(now.millis() + lease) };
    let in_hand = ready.iter().map(|(message, _)| Mark { message, status: &sending });
    let behind = settled.iter().map(|(message, status)| Mark { message, status });
    let marks: Vec<Mark<'_>> = in_hand.chain(behind).collect();
    claims::update_statuses(tx, &marks).await?;
    for (_, status) in settled {
        if let MessageStatus::Skipped(skip) | MessageStatus::Held { skip, .. } = status {
            count_skip(skip.reason);
        }
    }
    Ok(())
}

pub(crate) fn count_skip(reason: SkipReason) {
    metrics_catalogue::DELIVERY_REFUSALS.with([reason.code()]).increment(1);
}
