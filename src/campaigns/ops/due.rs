//! Takes up campaigns whose time has come. The times are in the database, so that none is lost with a
//! process, and any number of senders may look: each campaign is held by one of them.

use std::time::Duration;

use crate::{
    app::App,
    campaigns::{
        model::{Action, Call, Campaign, Status},
        store,
    },
    kernel::{Error, Result, Timestamp, WorkspaceId},
};

use super::{
    Step, Who,
    change::commit,
    consent,
    lifecycle::{ended, failed, refuse_unfit},
};

/// Rest between two looks at the times.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Campaigns taken up in one transaction.
const BATCH: i64 = 20;
/// How late a campaign may be and still go out (DECISIONS F4).
const LATENESS_MAX: Duration = Duration::from_hours(24);
/// How long one that cannot be judged is left aside.
const PUT_OFF: Duration = Duration::from_mins(10);
/// Why one that is later than that failed.
const MISSED: &str = "missed_schedule";

/// Takes up what is due until it is dropped.
pub async fn watch(app: App) {
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        loop {
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
async fn take_up(app: &App) -> Result<i64> {
    let now = app.clock().now();
    let mut tx = app.db().begin().await?;
    let mut taken = 0;
    for (workspace, id) in store::due(&mut tx, now, BATCH).await? {
        taken += 1;
        let found = store::find(&mut *tx, workspace, id).await;
        let judged = match found {
            Ok(Some(campaign)) => {
                step(app, workspace, &campaign, now).await.map(|step| Some((step, campaign)))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        match judged {
            Ok(None) => {}
            Ok(Some((step, campaign))) => {
                observe_lag(&campaign, now);
                commit(&mut *tx, &Who::system(workspace), (&campaign, step), now).await?;
            }
            // Of a store that is away no campaign is to blame.
            Err(away @ Error::Unavailable { .. }) => return Err(away),
            // One that cannot be judged must not stand in the way of the others.
            Err(error) => {
                tracing::error!(campaign = %id, %error, "a campaign that is due was put off");
                let until = now.millis().saturating_add(millis(PUT_OFF));
                store::postpone(&mut *tx, workspace, id, Timestamp::from_millis(until)).await?;
            }
        }
    }
    tx.commit().await?;
    Ok(taken)
}

fn observe_lag(campaign: &Campaign, now: Timestamp) {
    let Some(due) = campaign.state.next_send_at else { return };
    let late_ms = u64::try_from(now.millis() - due.millis()).unwrap_or(0);
    metrics::histogram!("campaign_due_lag_seconds").record(Duration::from_millis(late_ms));
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// What becomes of a campaign that is due.
async fn step(
    app: &App,
    workspace: WorkspaceId,
    campaign: &Campaign,
    now: Timestamp,
) -> Result<Step> {
    if campaign.state.status == Status::Scheduled {
        return launched(app, workspace, campaign, now).await;
    }
    // Everything that is sent needs somebody who carries it.
    let reason = format!("no provider is set for channel {}", campaign.definition.channel.as_str());
    failed(campaign, &reason, now)
}

async fn launched(
    app: &App,
    workspace: WorkspaceId,
    campaign: &Campaign,
    now: Timestamp,
) -> Result<Step> {
    if let Some(reason) = unlaunchable(campaign, now) {
        return failed(campaign, &reason, now);
    }
    if let Some(fault) = consent::fault(app, workspace, &campaign.definition).await? {
        return failed(campaign, &fault.to_string(), now);
    }
    let step = Step::moved(campaign, Call::Launch, Action::Launched, now)?;
    ended(campaign, step, now)
}

/// Why a scheduled campaign cannot go out now that its time has come.
fn unlaunchable(campaign: &Campaign, now: Timestamp) -> Option<String> {
    let due = campaign.state.next_send_at.unwrap_or(now);
    if now.millis() - due.millis() > millis(LATENESS_MAX) {
        return Some(MISSED.to_owned());
    }
    refuse_unfit(&campaign.definition, now).err().map(|refused| refused.to_string())
}
