//! Takes up campaigns whose time has come. The times are in the database, so that none is lost with a
//! process, and any number of senders may look: each campaign is held by one of them.

use std::time::Duration;

use kernel::{Channel, Error, Result, Timestamp, WorkspaceId};
use supervisor::Heartbeat;

use super::{
    Step, Who,
    change::commit,
    consent,
    enabled_channels::EnabledChannels,
    lifecycle::{ended, failed, refuse_unfit_again},
    senders,
};
use crate::{
    CampaignState,
    model::{
        Action, Call, Campaign, CampaignChannel, Kind, Status, Variant, message::MessageChannel,
        timing,
    },
    store,
};

/// Rest between two looks at the times.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Campaigns taken up in one transaction.
const BATCH: i64 = 20;
/// How long one that cannot be judged is left aside.
const PUT_OFF: Duration = Duration::from_mins(10);
/// Why one that is later than that failed.
const MISSED: &str = "missed_schedule";

/// Takes up what is due until it is dropped.
pub async fn watch(app: CampaignState, heartbeat: Heartbeat) {
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        loop {
            heartbeat.beat();
            match take_up(&app).await {
                Ok(taken) if taken == BATCH => {}
                Ok(_) => break,
                Err(error) => {
                    // As before the schema is there, or while the store is away.
                    tracing::debug!(%error, "cannot look for campaigns that are due");
                    break;
                }
            }
        }
    }
}

/// Takes up one batch, and says how many there were.
async fn take_up(app: &CampaignState) -> Result<i64> {
    let now = app.clock().now();
    let mut tx = app.db().begin().await?;
    let (mut taken, mut begun) = (0, 0);
    for (workspace, id) in store::due(&mut tx, now, BATCH).await? {
        taken += 1;
        let found = store::find(&mut *tx, workspace, id).await;
        let judged = match found {
            Ok(Some(campaign)) => {
                judge(app, workspace, &campaign, now).await.map(|made| Some((made, campaign)))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        match judged {
            Ok(None) => {}
            Ok(Some((made, campaign))) => {
                observe_lag(&campaign, now);
                begun += u32::from(matches!(made, Made::Begun(_)));
                keep(&mut tx, workspace, (&campaign, made), now).await?;
            }
            // An outage is not the fault of a campaign.
            Err(error) if error.is_unavailable() => return Err(error),
            // One that cannot be judged must not stand in the way of the others.
            Err(error) => {
                tracing::error!(campaign = %id, %error, "a campaign that is due was put off");
                let until = now.millis().saturating_add(millis(PUT_OFF));
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

/// What is made of a campaign that is due.
#[derive(Debug)]
enum Made {
    Step(Box<Step>),
    Begun(Box<Campaign>),
    /// It is too late to go out this time.
    LeftOut(Box<Campaign>),
}

async fn keep(
    tx: &mut sqlx::PgConnection,
    workspace: WorkspaceId,
    (from, made): (&Campaign, Made),
    now: Timestamp,
) -> Result<()> {
    match made {
        Made::Step(step) => {
            commit(&mut *tx, &Who::system(workspace), (from, *step), now).await.map(drop)
        }
        Made::Begun(to) => {
            let due = from.state.next_send_at.unwrap_or(now);
            store::begin(&mut *tx, workspace, (to.id, &to.state), (due, now)).await
        }
        Made::LeftOut(to) => store::leave_out(&mut *tx, workspace, (to.id, &to.state)).await,
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

/// What becomes of a campaign that is due.
async fn judge(
    app: &CampaignState,
    workspace: WorkspaceId,
    campaign: &Campaign,
    now: Timestamp,
) -> Result<Made> {
    let step = |step: Step| Made::Step(Box::new(step));
    if campaign.state.status == Status::Scheduled {
        return launched(app, workspace, campaign, now).await.map(step);
    }
    if let Some(reason) = without_provider(app, campaign).await? {
        return failed(campaign, &reason, now).map(step);
    }
    gone_out(campaign, lateness_max(app), now)
}

/// A campaign that goes out now, and is due again when its schedule says.
///
/// # Errors
/// The refusal of the state machine.
fn gone_out(campaign: &Campaign, lateness_max: Duration, now: Timestamp) -> Result<Made> {
    let mut to = campaign.clone();
    let state = &mut to.state;
    if campaign.definition.kind() != Kind::Recurring {
        state.next_send_at = None;
        return Ok(Made::Begun(Box::new(to)));
    }
    state.occurrence = state.occurrence.saturating_add(1);
    // From now on and not from its time: of several that were missed the last one alone goes out.
    state.next_send_at =
        timing::next_send_at(&campaign.definition, (Status::Active, state.occurrence), now);
    if is_late(campaign, lateness_max, now) {
        tracing::warn!(campaign = %campaign.id, "a time of a recurring campaign was missed");
        // It did not go out, so it counts for nothing.
        state.occurrence = campaign.state.occurrence;
        if state.next_send_at.is_none() {
            let completed = campaign.moved(Call::Complete, now)?;
            let step = Step::to(campaign, completed, Call::Complete, Action::Completed);
            return Ok(Made::Step(Box::new(step)));
        }
        return Ok(Made::LeftOut(Box::new(to)));
    }
    Ok(Made::Begun(Box::new(to)))
}

/// Why messages of a campaign cannot be sent, where no process carries one of its channels.
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
    let step = Step::moved(campaign, Call::Launch, Action::Launched, now)?;
    ended(campaign, step, now)
}

/// Why a scheduled campaign cannot go out now that its time has come.
fn unlaunchable(campaign: &Campaign, lateness_max: Duration, now: Timestamp) -> Option<String> {
    if is_late(campaign, lateness_max, now) {
        return Some(MISSED.to_owned());
    }
    refuse_unfit_again(campaign, now).err().map(|refused| refused.to_string())
}
