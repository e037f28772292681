//! Starts campaigns that are due. Due times are stored in the database, so that none is lost with a process,
//! and any number of processes may poll: each campaign is locked by one of them.

use std::time::Duration;

use kernel::{Channel, Result, Timestamp, WorkspaceId};
use supervisor::Heartbeat;

use super::{
    Step, Who,
    change::commit,
    consent,
    enabled_channels::EnabledChannels,
    lifecycle::{completed_if_over, failed, refuse_unsendable_again},
    segments, senders,
};
use crate::{
    CampaignState,
    model::{
        Action, Call, Campaign, CampaignChannel, CampaignKind, Status, Variant,
        message::MessageChannel, timing,
    },
    store,
};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Campaigns started in one transaction.
const BATCH: i64 = 20;
/// How long a campaign is postponed after an error.
const POSTPONED: Duration = Duration::from_mins(10);
/// The failure reason of a campaign that is too late.
const MISSED: &str = "missed_schedule";

/// Starts due campaigns until it is dropped.
pub async fn watch(app: CampaignState, heartbeat: Heartbeat) {
    let mut poll = tokio::time::interval(POLL_INTERVAL);
    poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        poll.tick().await;
        loop {
            heartbeat.beat();
            match start_due(&app).await {
                Ok(taken) if taken == BATCH => {}
                Ok(_) => break,
                Err(error) => {
                    // Expected before the schema is migrated, and while the store is unavailable.
                    tracing::debug!(%error, "due campaigns cannot be read");
                    break;
                }
            }
        }
    }
}

/// Starts one batch, and returns its size.
async fn start_due(app: &CampaignState) -> Result<i64> {
    let now = app.clock().now();
    let mut tx = app.db().begin().await?;
    let (mut taken, mut begun) = (0, 0);
    for (workspace, id) in store::due(&mut tx, now, BATCH).await? {
        taken += 1;
        let found = store::find(&mut *tx, workspace, id).await;
        let decided = match found {
            Ok(Some(campaign)) => decide(app, workspace, &campaign, now)
                .await
                .map(|outcome| Some((outcome, campaign))),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        match decided {
            Ok(None) => {}
            Ok(Some((outcome, campaign))) => {
                observe_lag(&campaign, now);
                begun += u32::from(matches!(outcome, Outcome::Begun(_)));
                store_outcome(&mut tx, workspace, &campaign, outcome, now).await?;
            }
            // The store is unavailable, which is not the campaign's fault.
            Err(error) if error.is_unavailable() => return Err(error),
            // A failing campaign must not block the others.
            Err(error) => {
                tracing::error!(campaign = %id, %error, "a due campaign is postponed after an error");
                let until = now.millis().saturating_add(millis(POSTPONED));
                store::postpone(&mut *tx, workspace, id, Timestamp::from_millis(until)).await?;
            }
        }
    }
    tx.commit().await?;
    if begun > 0 {
        app.due_signal().notify();
    }
    Ok(taken)
}

/// What happens to a due campaign.
#[derive(Debug)]
enum Outcome {
    Step(Box<Step>),
    Begun(Box<Campaign>),
    /// It is too late for this occurrence.
    LeftOut(Box<Campaign>),
}

async fn store_outcome(
    tx: &mut sqlx::PgConnection,
    workspace: WorkspaceId,
    from: &Campaign,
    outcome: Outcome,
    now: Timestamp,
) -> Result<()> {
    match outcome {
        Outcome::Step(step) => {
            commit(&mut *tx, &Who::system(workspace), from, *step, now).await.map(drop)
        }
        Outcome::Begun(to) => {
            let due = from.state.next_send_at.unwrap_or(now);
            store::begin(&mut *tx, workspace, &to, due, now).await
        }
        Outcome::LeftOut(to) => store::skip_occurrence(&mut *tx, workspace, &to).await,
    }
}

fn observe_lag(campaign: &Campaign, now: Timestamp) {
    let Some(due) = campaign.state.next_send_at else { return };
    let late_ms = u64::try_from(now.millis() - due.millis()).unwrap_or(0);
    metrics_catalogue::CAMPAIGN_DUE_LAG_SECONDS.record(Duration::from_millis(late_ms));
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Decides what happens to a due campaign.
async fn decide(
    app: &CampaignState,
    workspace: WorkspaceId,
    campaign: &Campaign,
    now: Timestamp,
) -> Result<Outcome> {
    let step = |step: Step| Outcome::Step(Box::new(step));
    if campaign.state.status == Status::Scheduled {
        return launched(app, workspace, campaign, now).await.map(step);
    }
    if let Some(reason) = without_provider(app, campaign).await? {
        return failed(campaign, &reason, now).map(step);
    }
    start_occurrence(campaign, lateness_max(app), now)
}

/// Starts an occurrence, and computes the next one.
///
/// # Errors
/// The refusal of the state machine.
fn start_occurrence(
    campaign: &Campaign,
    lateness_max: Duration,
    now: Timestamp,
) -> Result<Outcome> {
    let mut to = campaign.clone();
    let state = &mut to.state;
    if campaign.definition.kind() != CampaignKind::Recurring {
        state.next_send_at = None;
        return Ok(Outcome::Begun(Box::new(to)));
    }
    state.occurrence = state.occurrence.saturating_add(1);
    // Computed from now and not from the due time: of several missed occurrences only the last is sent.
    state.next_send_at =
        timing::next_send_at(&campaign.definition, Status::Active, state.occurrence, now);
    if is_late(campaign, lateness_max, now) {
        tracing::warn!(campaign = %campaign.id, "an occurrence of a recurring campaign was missed");
        // A skipped occurrence is not counted.
        state.occurrence = campaign.state.occurrence;
        if state.next_send_at.is_none() {
            let completed = campaign.transition(Call::Complete, now)?;
            let step = Step::to(campaign, completed, Call::Complete, Action::Completed);
            return Ok(Outcome::Step(Box::new(step)));
        }
        return Ok(Outcome::LeftOut(Box::new(to)));
    }
    Ok(Outcome::Begun(Box::new(to)))
}

/// Why messages of a campaign cannot be sent, if no process has a provider for one of its channels.
async fn without_provider(app: &CampaignState, campaign: &Campaign) -> Result<Option<String>> {
    let definition = &campaign.definition;
    let of_variant = |variant: &Variant| match variant.message.as_ref()?.content.channel() {
        MessageChannel::Email => Some(Channel::Email),
        MessageChannel::Sms => Some(Channel::Sms),
        MessageChannel::Viber => Some(Channel::Viber),
        MessageChannel::Push => Some(Channel::Push),
        MessageChannel::Whatsapp => Some(Channel::Whatsapp),
        MessageChannel::Webhook => None,
    };
    let channels: Vec<Channel> = match definition.channel {
        CampaignChannel::AiOptimized => definition.variants.iter().filter_map(of_variant).collect(),
        channel => channel.delivers().into_iter().collect(),
    };
    let is_lacking = |channel: &Channel| !app.enabled_channels().contains(*channel);
    let lacking: Vec<Channel> = channels.into_iter().filter(is_lacking).collect();
    if lacking.is_empty() {
        return Ok(None);
    }
    let enabled = EnabledChannels::read(app).await?;
    Ok(lacking.into_iter().find_map(|channel| enabled.fault(channel.as_str())))
}

fn lateness_max(app: &CampaignState) -> Duration {
    Duration::from_secs(u64::from(app.delivery().max_lateness_minutes) * 60)
}

fn is_late(campaign: &Campaign, lateness_max: Duration, now: Timestamp) -> bool {
    let due = campaign.state.next_send_at.unwrap_or(now);
    now.millis() - due.millis() > millis(lateness_max)
}

async fn launched(
    app: &CampaignState,
    workspace: WorkspaceId,
    campaign: &Campaign,
    now: Timestamp,
) -> Result<Step> {
    if let Some(reason) = unlaunchable(campaign, lateness_max(app), now) {
        return failed(campaign, &reason, now);
    }
    if let Some(fault) = consent::fault(app, workspace, &campaign.definition).await? {
        return failed(campaign, &fault.to_string(), now);
    }
    if let Some(fault) = senders::fault(app, workspace, &campaign.definition).await? {
        return failed(campaign, &fault.to_string(), now);
    }
    if let Some(fault) = segments::fault(app.db(), workspace, &campaign.definition).await? {
        return failed(campaign, &fault.to_string(), now);
    }
    let step = Step::transition(campaign, Call::Launch, Action::Launched, now)?;
    completed_if_over(campaign, step, now)
}

/// Why a scheduled campaign cannot be launched at its time.
fn unlaunchable(campaign: &Campaign, lateness_max: Duration, now: Timestamp) -> Option<String> {
    if is_late(campaign, lateness_max, now) {
        return Some(MISSED.to_owned());
    }
    refuse_unsendable_again(campaign, now).err().map(|refused| refused.to_string())
}
