//! The calls that change the status of a campaign.

use kernel::{CampaignId, Error, FieldError, Result, Timestamp, zone::Zone};

use super::{Step, Who, change};
use crate::{
    CampaignState,
    model::{
        Action, Call, Campaign, CampaignKind, Definition, Precondition, SendType, Status,
        checks::{self, Check, CheckId, CheckStatus},
        learning::{Learning, Plan},
    },
    store,
};

/// Launches: a one-time campaign is sent now, others become live, where the campaign is still what the caller expects.
///
/// # Errors
/// Not found; a bad request if the content cannot be sent; a conflict in a status that cannot be launched, and where the
/// campaign was changed.
pub async fn send(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    precondition: &Precondition,
) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        precondition.check(campaign)?;
        let mut step = Step::transition(campaign, Call::Send, Action::Sent, now)?;
        refuse_unsendable(&campaign.definition, now)?;
        begin_learning(&mut step.campaign, now)?;
        Ok(Some(step))
    })
    .await
}

/// A campaign with AI optimisation learns from its launch on, whichever call launches it; one with a single
/// variant has nothing to learn.
pub(super) fn begin_learning(campaign: &mut Campaign, now: Timestamp) -> Result<()> {
    if campaign.definition.send_type == SendType::AiOptimized && campaign.state.rl.is_none() {
        let learning = Learning::begin(Plan::default(), &campaign.definition.variants, now);
        campaign.state.rl =
            learning.map(serde_json::to_value).transpose().map_err(anyhow::Error::from)?;
    }
    Ok(())
}

/// Checks whether a campaign can be sent.
///
/// # Errors
/// A bad request with a line for each failed check.
pub(super) fn refuse_unsendable(definition: &Definition, now: Timestamp) -> Result<()> {
    refuse(definition, now, |_| true)
}

/// The same for a campaign that may have been sent before: its schedule may be over.
///
/// # Errors
/// A bad request with a line for each failed check.
pub(super) fn refuse_unsendable_again(campaign: &Campaign, now: Timestamp) -> Result<()> {
    let went_out = campaign.state.occurrence > 0;
    refuse(&campaign.definition, now, |check| !went_out || check.id != CheckId::ScheduleValid)
}

fn refuse(definition: &Definition, now: Timestamp, counts: impl Fn(&Check) -> bool) -> Result<()> {
    // Zones were resolved when the campaign was saved.
    let found = tokio::task::block_in_place(|| checks::of(definition, Zone::UTC, now));
    // A missing provider is not checked here: a channel without one accepts campaigns and fails their sends.
    let stops = |check: &Check| check.status == CheckStatus::Fail && counts(check);
    let faults: Vec<FieldError> =
        found.into_iter().filter(stops).map(|check| FieldError::new("", check.message)).collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::Invalid(faults)) }
}

async fn transition(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    call: Call,
    action: Action,
) -> Result<Campaign> {
    change(app, who, id, |campaign, now| Step::transition(campaign, call, action, now).map(Some))
        .await
}

/// # Errors
/// Not found; a conflict if it is neither active nor scheduled.
pub async fn pause(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    transition(app, who, id, Call::Pause, Action::Paused).await
}

/// Resumes in the status it was paused from; a scheduled time that has passed counts as due.
///
/// # Errors
/// Not found; a conflict if it is not paused.
pub async fn resume(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        let step = Step::transition(campaign, Call::Resume, Action::Resumed, now)?;
        completed_if_over(campaign, step, now).map(Some)
    })
    .await
}

/// A recurring campaign that is resumed after its last occurrence completes at once.
pub(super) fn completed_if_over(from: &Campaign, step: Step, now: Timestamp) -> Result<Step> {
    let campaign = &step.campaign;
    let is_over = campaign.state.status == Status::Active
        && campaign.definition.kind() == CampaignKind::Recurring
        && campaign.state.next_send_at.is_none();
    if !is_over {
        return Ok(step);
    }
    let completed = campaign.transition(Call::Complete, now)?;
    Ok(Step::to(from, completed, Call::Complete, Action::Completed))
}

/// Cancels for good.
///
/// # Errors
/// Not found; a conflict if it is not under way.
pub async fn cancel(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    transition(app, who, id, Call::Cancel, Action::Cancelled).await
}

/// Schedules a failed campaign again, at once.
///
/// # Errors
/// Not found; a conflict if it has not failed.
pub async fn retry(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    // First, so that a crash between the two statements loses nothing; the mark has no effect until the
    // campaign is due.
    store::reopen_run(app.db(), who.workspace, id).await?;
    transition(app, who, id, Call::Retry, Action::Retried).await
}

/// Sends a completed campaign again, to recipients by its `resendPolicy`.
///
/// # Errors
/// Not found; a bad request if it is not one-time or has not finished.
pub async fn resend(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        let step = Step::transition(campaign, Call::Resend, Action::Resent, now)?;
        refuse_unsendable(&campaign.definition, now)?;
        Ok(Some(step))
    })
    .await
}

/// Stops future occurrences; the current one finishes.
///
/// # Errors
/// Not found; a bad request if it is not recurring; a conflict if it is not live.
pub async fn stop_recurring(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    transition(app, who, id, Call::StopRecurring, Action::RecurringStopped).await
}

/// Archives, which stops sending; an archived campaign stays unchanged.
///
/// # Errors
/// Not found.
pub async fn archive(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    change(app, who, id, archived).await
}

/// The step into the archive; none for an archived campaign.
pub(super) fn archived(campaign: &Campaign, now: Timestamp) -> Result<Option<Step>> {
    if campaign.state.status == Status::Archived {
        return Ok(None);
    }
    Step::transition(campaign, Call::Archive, Action::Archived, now).map(Some)
}

/// Restores from the archive; a campaign that was under way is paused.
///
/// # Errors
/// Not found; a conflict if it is not archived.
pub async fn unarchive(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    transition(app, who, id, Call::Unarchive, Action::Unarchived).await
}

/// Ends a campaign that cannot continue.
///
/// # Errors
/// A conflict if it is not under way.
pub(super) fn failed(campaign: &Campaign, reason: &str, now: Timestamp) -> Result<Step> {
    let failed = campaign.failed(reason, now).map_err(Error::from)?;
    Ok(Step::to(campaign, failed, Call::Fail, Action::Failed))
}
