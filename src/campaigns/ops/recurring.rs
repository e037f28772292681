//! The status of a recurring campaign.

use kernel::{CampaignId, Error, Result, Timestamp, zone::Zone};

use super::{Who, find};
use crate::{
    CampaignState,
    model::{
        Campaign, CampaignKind, Status,
        settings::{occurrence::upcoming, recurring::RecurringSchedule},
        trial::Trial,
    },
};

/// Future occurrences in the answer.
const UPCOMING_MAX: usize = 5;

#[derive(Debug, Clone)]
pub struct RecurringStatus {
    pub campaign: Campaign,
    pub schedule: RecurringSchedule,
    pub zone: Zone,
    /// Number of occurrences so far.
    pub completed: u32,
    /// Future occurrences; if it is not live, those it would have.
    pub upcoming: Vec<Timestamp>,
    pub trial: Option<Trial>,
}

/// # Errors
/// Not found; a bad request if it is not recurring.
pub async fn recurring_status(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
) -> Result<RecurringStatus> {
    let campaign = find(app, who.workspace, id).await?;
    refuse_others(&campaign)?;
    let Some(schedule) = campaign.definition.recurring_schedule.clone() else {
        return Err(Error::bad_request("The campaign has no recurringSchedule"));
    };
    let workspace_zone = who.zone.parse().unwrap_or(Zone::UTC);
    let completed = u32::try_from(campaign.state.occurrence).unwrap_or(0);
    let is_over = matches!(
        campaign.state.status,
        Status::Completed | Status::Cancelled | Status::Archived | Status::Failed
    );
    let upcoming = if is_over {
        Vec::new()
    } else {
        upcoming(&schedule, workspace_zone, app.clock().now(), completed, UPCOMING_MAX)
    };
    let zone = schedule.zone(workspace_zone);
    let trial = Trial::of(&campaign);
    Ok(RecurringStatus { campaign, schedule: *schedule, zone, completed, upcoming, trial })
}

/// A schedule that is not saved.
#[derive(Debug, Clone, PartialEq)]
pub struct UnsavedSchedule {
    pub schedule: RecurringSchedule,
    /// The zone of the campaign, where the schedule has none of its own.
    pub zone: Option<Zone>,
    /// The campaign whose occurrences count, where it is saved.
    pub campaign: Option<CampaignId>,
}

/// When a schedule is due next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upcoming {
    pub zone: Zone,
    pub at: Vec<Timestamp>,
}

/// The next occurrences of a schedule that is not saved. Those that the campaign had so far count for its limit.
///
/// # Errors
/// Not found for an unknown campaign.
pub async fn upcoming_of(
    app: &CampaignState,
    who: &Who,
    unsaved: UnsavedSchedule,
) -> Result<Upcoming> {
    let UnsavedSchedule { schedule, zone, campaign } = unsaved;
    let completed = match campaign {
        Some(id) => find(app, who.workspace, id).await?.state.occurrence,
        None => 0,
    };
    let completed = u32::try_from(completed).unwrap_or(0);
    let workspace_zone = who.zone.parse().unwrap_or(Zone::UTC);
    let schedule = schedule.in_zone(zone.unwrap_or(workspace_zone));
    let at = upcoming(&schedule, workspace_zone, app.clock().now(), completed, UPCOMING_MAX);
    Ok(Upcoming { zone: schedule.zone(workspace_zone), at })
}

pub(super) fn refuse_others(campaign: &Campaign) -> Result<()> {
    if campaign.definition.kind() == CampaignKind::Recurring {
        return Ok(());
    }
    Err(Error::bad_request("The campaign is not recurring"))
}
