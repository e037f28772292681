//! Takes up campaigns whose time has come. The times are in the database, so that none is lost with a
//! process, and any number of senders may look: each campaign is held by one of them.

use std::time::Duration;

use chrono::TimeDelta;

use crate::{
    app::App,
    campaigns::{
        model::{Action, Call, Campaign, Status},
        store,
    },
    kernel::{Result, Timestamp},
};

use super::{
    Step, Who,
    change::commit,
    lifecycle::{failed, refuse_unfit},
};

/// Rest between two looks at the times.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Campaigns taken up in one transaction.
const BATCH: i64 = 20;
/// How late a campaign may be and still go out (DECISIONS F4), in minutes.
const LATENESS_MINUTES_MAX: i64 = 24 * 60;
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
    let due = store::due(&mut tx, now, BATCH).await?;
    let mut taken = 0;
    for (workspace, campaign) in due {
        taken += 1;
        let step = step(&campaign, now)?;
        let who = Who::system(workspace);
        commit(&mut *tx, &who, (&campaign, step), now).await?;
        tracing::debug!(campaign = %campaign.id, "a campaign was due");
    }
    tx.commit().await?;
    Ok(taken)
}

/// What becomes of a campaign that is due.
fn step(campaign: &Campaign, now: Timestamp) -> Result<Step> {
    if campaign.state.status == Status::Scheduled {
        return launched(campaign, now);
    }
    // Everything that is sent needs somebody who carries it.
    let reason = format!("no provider is set for channel {}", campaign.definition.channel.as_str());
    failed(campaign, &reason, now)
}

fn launched(campaign: &Campaign, now: Timestamp) -> Result<Step> {
    if let Some(reason) = unlaunchable(campaign, now) {
        return failed(campaign, &reason, now);
    }
    Step::moved(campaign, Call::Launch, Action::Launched, now)
}

/// Why a scheduled campaign cannot go out now that its time has come.
fn unlaunchable(campaign: &Campaign, now: Timestamp) -> Option<String> {
    let latest = TimeDelta::minutes(LATENESS_MINUTES_MAX).num_milliseconds();
    let due = campaign.state.next_send_at.unwrap_or(now);
    if now.millis() - due.millis() > latest {
        return Some(MISSED.to_owned());
    }
    refuse_unfit(&campaign.definition, now).err().map(|refused| refused.to_string())
}
