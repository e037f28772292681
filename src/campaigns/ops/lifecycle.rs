//! The calls that move a campaign from state to state.

use kernel::{CampaignId, Error, FieldError, Result, Timestamp, zone::Zone};

use super::{Step, Who, change};
use crate::{
    CampaignState,
    model::{
        Action, Call, Campaign, Definition, Kind, SendType, Status,
        checks::{self, Check, CheckId, CheckStatus},
        learning::{Learning, Plan},
    },
    store,
};

/// Launches: a one-time campaign goes out now, others are live from now on.
///
/// # Errors
/// Not found; a bad request where what it says cannot be sent; a conflict where it cannot be sent from
/// where it stands.
pub async fn send(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        let mut step = Step::moved(campaign, Call::Send, Action::Sent, now)?;
        refuse_unfit(&campaign.definition, now)?;
        begin_learning(&mut step.campaign, now)?;
        Ok(Some(step))
    })
    .await
}

/// A campaign that is optimised learns from its launch on, however it is launched; one with a single variant
/// has nothing to learn.
pub(super) fn begin_learning(campaign: &mut Campaign, now: Timestamp) -> Result<()> {
    if campaign.definition.send_type == SendType::AiOptimized && campaign.state.rl.is_none() {
        let learning = Learning::begin(Plan::default(), &campaign.definition.variants, now);
        campaign.state.rl =
            learning.map(serde_json::to_value).transpose().map_err(anyhow::Error::from)?;
    }
    Ok(())
}

/// Refuses what cannot be sent, with every reason.
///
/// # Errors
/// A bad request with a line for each.
pub(super) fn refuse_unfit(definition: &Definition, now: Timestamp) -> Result<()> {
    refuse(definition, now, |_| true)
}

/// Likewise of a campaign that may have gone out before: then its last time may be over.
///
/// # Errors
/// A bad request with a line for each.
pub(super) fn refuse_unfit_again(campaign: &Campaign, now: Timestamp) -> Result<()> {
    let went_out = campaign.state.occurrence > 0;
    refuse(&campaign.definition, now, |check| !went_out || check.id != CheckId::ScheduleValid)
}

fn refuse(definition: &Definition, now: Timestamp, counts: impl Fn(&Check) -> bool) -> Result<()> {
    // Zones were settled when the campaign was written.
    let found = tokio::task::block_in_place(|| checks::of(definition, Zone::UTC, now));
    // Whether anybody carries its messages is not asked: without a provider a channel takes campaigns and
    // fails their sends.
    let stops = |check: &Check| check.status == CheckStatus::Fail && counts(check);
    let faults: Vec<FieldError> =
        found.into_iter().filter(stops).map(|check| FieldError::new("", check.message)).collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::Invalid(faults)) }
}

async fn moved(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    by: (Call, Action),
) -> Result<Campaign> {
    let (call, action) = by;
    change(app, who, id, |campaign, now| Step::moved(campaign, call, action, now).map(Some)).await
}

/// Halts.
///
/// # Errors
/// Not found; a conflict where it is neither active nor scheduled.
pub async fn pause(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    moved(app, who, id, (Call::Pause, Action::Paused)).await
}

/// Goes on with what it was paused from; a time that went by meanwhile counts as come.
///
/// # Errors
/// Not found; a conflict where it is not paused.
pub async fn resume(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        let step = Step::moved(campaign, Call::Resume, Action::Resumed, now)?;
        ended(campaign, step, now).map(Some)
    })
    .await
}

/// A recurring campaign that comes back to life after its last time is over completes at once.
pub(super) fn ended(from: &Campaign, step: Step, now: Timestamp) -> Result<Step> {
    let campaign = &step.campaign;
    let is_over = campaign.state.status == Status::Active
        && campaign.definition.kind() == Kind::Recurring
        && campaign.state.next_send_at.is_none();
    if !is_over {
        return Ok(step);
    }
    let completed = campaign.moved(Call::Complete, now)?;
    Ok(Step::to(from, completed, Call::Complete, Action::Completed))
}

/// Calls off, for good.
///
/// # Errors
/// Not found; a conflict where nothing is under way.
pub async fn cancel(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    moved(app, who, id, (Call::Cancel, Action::Cancelled)).await
}

/// Puts a failed campaign back in line, at once.
///
/// # Errors
/// Not found; a conflict where it has not failed.
pub async fn retry(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    // First, so that it is not lost between the two; until it is put in line nobody heeds it.
    store::again(app.db(), who.workspace, id).await?;
    moved(app, who, id, (Call::Retry, Action::Retried)).await
}

/// Sends a completed campaign again, to whom its `resendPolicy` says.
///
/// # Errors
/// Not found; a bad request where it is not one-time or has not finished.
pub async fn resend(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        let step = Step::moved(campaign, Call::Resend, Action::Resent, now)?;
        refuse_unfit(&campaign.definition, now)?;
        Ok(Some(step))
    })
    .await
}

/// Stops the occurrences to come; one that is under way finishes.
///
/// # Errors
/// Not found; a bad request where it is not recurring; a conflict where it is not live.
pub async fn stop_recurring(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    moved(app, who, id, (Call::StopRecurring, Action::RecurringStopped)).await
}

/// Puts away, which halts sending; an archived one stays as it is.
///
/// # Errors
/// Not found.
pub async fn archive(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    change(app, who, id, archived).await
}

/// The step into the archive, for those that are not there.
pub(super) fn archived(campaign: &Campaign, now: Timestamp) -> Result<Option<Step>> {
    if campaign.state.status == Status::Archived {
        return Ok(None);
    }
    Step::moved(campaign, Call::Archive, Action::Archived, now).map(Some)
}

/// Takes out of the archive; what was under way is paused and waits to be resumed.
///
/// # Errors
/// Not found; a conflict where it is not archived.
pub async fn unarchive(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    moved(app, who, id, (Call::Unarchive, Action::Unarchived)).await
}

/// Ends a campaign that cannot go on.
///
/// # Errors
/// A conflict where nothing is under way.
pub(super) fn failed(campaign: &Campaign, reason: &str, now: Timestamp) -> Result<Step> {
    let failed = campaign.failed(reason, now).map_err(Error::from)?;
    Ok(Step::to(campaign, failed, Call::Fail, Action::Failed))
}
