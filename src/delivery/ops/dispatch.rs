//! One batch of one lane, from the claim to the provider's answer.
//!
//! ```text
//! transaction: claim ─▶ gate, caps, rate ─▶ render ─▶ tell what stays behind ─▶ mark `sending`
//! then: provider ─▶ tell ─▶ keep the outcome
//! ```
//!
//! A crash before the commit leaves nothing behind. After it, what was marked lapses and is unknown: it is
//! never handed over a second time.

use std::collections::BTreeMap;

use super::{
    channel_fault,
    handover::{self, Terms},
    judging::{Judge, Judged},
    lanes::{Lane, Round},
    note,
    scene::{Scene, Scenes, channels_of},
};
use crate::{
    app::App,
    campaigns,
    delivery::{
        model::{
            Outgoing,
            claimed::{Claimed, Standing},
            message::channel_name,
        },
        store::{
            claims::{self, Mark},
            limits, runs,
        },
    },
    kernel::{CampaignId, Result, Timestamp, WorkspaceId},
    links::Signer,
};

/// Sends one batch of a lane, of so many messages at most.
///
/// # Errors
/// When a store is away.
pub(super) async fn round(app: &App, scenes: &Scenes, lane: Lane, size: usize) -> Result<Round> {
    let began = std::time::Instant::now();
    let mut round = match lane {
        Lane::Outbox => outbox(app, size).await?,
        Lane::Campaign(workspace, campaign) => {
            campaign_batch(app, scenes, (workspace, campaign), size).await?
        }
    };
    round.took = began.elapsed();
    Ok(round)
}

/// Messages to be handed over.
type Ready = Vec<(Claimed, Outgoing)>;
/// Messages that are not, or not now.
type Settled = Vec<(Claimed, Standing)>;

/// What a transaction made of a batch.
struct Prepared {
    ready: Vec<(Claimed, Outgoing)>,
    claimed: usize,
    waits: Option<Timestamp>,
}

async fn outbox(app: &App, size: usize) -> Result<Round> {
    let now = app.clock().now();
    let signer = app.links().signer(now).await?;
    let limit = (now, i64::try_from(size).unwrap_or(i64::MAX));
    let mut tx = app.db().begin().await?;
    let claimed = claims::of_outbox(&mut tx, limit).await?;
    let count = claimed.len();
    let mut by_workspace = BTreeMap::<WorkspaceId, Vec<Claimed>>::new();
    for message in claimed {
        by_workspace.entry(message.workspace).or_default().push(message);
    }
    let (mut ready, mut settled) = (Vec::new(), Vec::new());
    for (workspace, batch) in by_workspace {
        let (connection, signer) = (&mut *tx, &signer);
        let judge = Judge { app, connection, workspace, scene: None, signer, now };
        let judged = judge.judge(batch).await?;
        ready.extend(judged.ready);
        settled.extend(judged.settled);
    }
    put_down(app, &mut tx, (&ready, &settled), now).await?;
    tx.commit().await?;
    let terms = Terms::of_outbox();
    handover::hand_over(app, ready, terms).await?;
    Ok(Round { claimed: count, asked: size, ..Round::default() })
}

async fn campaign_batch(
    app: &App,
    scenes: &Scenes,
    (workspace, id): (WorkspaceId, CampaignId),
    size: usize,
) -> Result<Round> {
    let Some(revision) = sending(app, workspace, id).await? else { return Ok(Round::default()) };
    let scene = scenes.of(app, (workspace, id), revision).await?;
    if let Some(fault) = unsendable(app, &scene) {
        campaigns::ops::give_up(app, workspace, id, &fault).await?;
        return Ok(Round::default());
    }
    let signer = app.links().signer(app.clock().now()).await?;
    let prepared = prepare(app, (workspace, &scene), &signer, size).await?;
    let round = Round {
        claimed: prepared.claimed,
        asked: size,
        wait_until: prepared.waits,
        ..Round::default()
    };
    if !prepared.ready.is_empty() {
        let terms = Terms::of_campaign(&scene);
        let done = handover::hand_over(app, prepared.ready, terms).await?;
        if done.iter().any(|it| channel_fault::is_shown_by(&it.standing)) {
            channel_fault::end(app, workspace, id).await?;
        }
    }
    Ok(round)
}

/// The revision of a campaign that sends.
async fn sending(app: &App, workspace: WorkspaceId, id: CampaignId) -> Result<Option<i64>> {
    let mut connection = app.db().acquire().await?;
    campaigns::ops::sending(&mut connection, workspace, id).await
}

/// Why nothing of a campaign can be sent.
fn unsendable(app: &App, scene: &Scene) -> Option<String> {
    let lacks = |channel| !app.providers().has(channel);
    let channel = channels_of(&scene.campaign).into_iter().find(|channel| lacks(*channel));
    channel
        .map(|channel| format!("no provider is set for channel {}", channel_name(channel)))
        .or_else(|| scene.fault())
}

async fn prepare(
    app: &App,
    (workspace, scene): (WorkspaceId, &Scene),
    signer: &Signer,
    size: usize,
) -> Result<Prepared> {
    let now = app.clock().now();
    let id = scene.campaign.id;
    let nothing = |waits| Prepared { ready: Vec::new(), claimed: 0, waits };
    let mut tx = app.db().begin().await?;
    if scene.volume().is_some() && runs::is_being_written(&mut *tx, workspace, id).await? {
        // Whom the limit leaves out is known when everyone is written down.
        return Ok(nothing(None));
    }
    let mut limit = i64::try_from(size).unwrap_or(i64::MAX);
    let mut pace = None;
    if let Some(per_minute) = scene.rate {
        let asked = (id, per_minute);
        let taken = limits::take_pace(&mut tx, workspace, asked, (now, limit)).await?;
        if taken.taken < 1 {
            return Ok(nothing(Some(taken.next(now))));
        }
        limit = taken.taken;
        pace = Some(taken);
    }
    let claimed = claims::of_campaign(&mut tx, workspace, id, (now, limit)).await?;
    // Asked once more behind the claim: who halted it before this is heeded.
    if campaigns::ops::sending(&mut tx, workspace, id).await?.is_none() {
        return Ok(nothing(None));
    }
    if runs::is_retried(&mut *tx, workspace, id).await? {
        // What failed is put in line again first, when nothing is in flight any more.
        return Ok(nothing(None));
    }
    let count = claimed.len();
    let connection = &mut *tx;
    let judge = Judge { app, connection, workspace, scene: Some(scene), signer, now };
    let Judged { mut ready, mut settled, waits } = judge.judge(claimed).await?;
    cut_to_volume(&mut tx, (workspace, scene), (&mut ready, &mut settled)).await?;
    put_down(app, &mut tx, (&ready, &settled), now).await?;
    if let Some(pace) = pace {
        limits::use_pace(&mut tx, workspace, id, (pace, ready.len())).await?;
    }
    tx.commit().await?;
    // While others are moved along, those who wait need no asking.
    let waits = waits.filter(|_| ready.is_empty() && settled.is_empty());
    Ok(Prepared { ready, claimed: count, waits })
}

/// A triggered campaign has no audience that could be cut to its limit beforehand.
async fn cut_to_volume(
    tx: &mut sqlx::PgConnection,
    (workspace, scene): (WorkspaceId, &Scene),
    (ready, settled): (&mut Ready, &mut Settled),
) -> Result<()> {
    use campaigns::model::{Kind, settings::limits::Cadence};
    let Some(limit) = scene.volume() else { return Ok(()) };
    let Some(max) = limit.max_sends() else { return Ok(()) };
    let is_triggered = scene.campaign.definition.kind() == Kind::Triggered;
    if !is_triggered || limit.cadence() != Cadence::Lifetime {
        return Ok(());
    }
    let used = limits::used_volume(tx, workspace, (scene.campaign.id, None)).await?;
    let left = usize::try_from(i64::from(max) - used).unwrap_or(0);
    for (message, _) in ready.split_off(left.min(ready.len())) {
        let standing = Standing::Skipped {
            code: "volume_limit".to_owned(),
            reason: format!("the campaign may send {max} messages"),
        };
        settled.push((message, standing));
    }
    Ok(())
}

/// Marks a batch: what stays behind is told of first, the rest is in its sender's hands from the commit on.
async fn put_down(
    app: &App,
    tx: &mut sqlx::PgConnection,
    (ready, settled): (&Ready, &Settled),
    now: Timestamp,
) -> Result<()> {
    let notes = settled.iter().filter_map(|(message, standing)| {
        note::of_standing(message, standing).map(|note| (message.workspace, note))
    });
    note::tell_all(app, notes.collect(), now).await?;
    let lease = i64::from(app.delivery().lease_seconds) * 1000;
    let sending = Standing::Sending { until: Timestamp::from_millis(now.millis() + lease) };
    let in_hand = ready.iter().map(|(message, _)| Mark { message, standing: &sending });
    let behind = settled.iter().map(|(message, standing)| Mark { message, standing });
    let marks: Vec<Mark<'_>> = in_hand.chain(behind).collect();
    claims::put_down(tx, &marks).await?;
    for (_, standing) in settled {
        if let (Standing::Skipped { .. } | Standing::Held { .. }, (Some(rule), _)) =
            (standing, standing.why())
        {
            count_refusal(rule);
        }
    }
    Ok(())
}

/// The rules of the gate, as labels.
const RULES: [&str; 14] = [
    "deleted",
    "no_address",
    "channel_consent",
    "list_consent",
    "suppressed_hard_bounce",
    "suppressed_complaint",
    "suppressed_unsubscribe",
    "suppressed_manual",
    "invalid_address",
    "frequency_cap",
    "quiet_hours",
    "volume_limit",
    "expired",
    "ab_inconclusive",
];

/// Counts a message that the gate refused by this rule.
pub(super) fn count_refusal(rule: &str) {
    metrics::counter!("delivery_gate_refusals_total", "rule" => known_rule(rule)).increment(1);
}

fn known_rule(rule: &str) -> &'static str {
    RULES.into_iter().find(|known| *known == rule).unwrap_or("other")
}
