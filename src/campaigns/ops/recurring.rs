//! Where a recurring campaign stands.

use kernel::{CampaignId, Error, Result, Timestamp, zone::Zone};

use super::{Who, find};
use crate::{
    CampaignState,
    model::{
        Campaign, Kind, Status,
        settings::{occurrence::upcoming, recurring::RecurringSchedule},
        trial::Trial,
    },
};

/// Occurrences to come that are told.
const UPCOMING_MAX: usize = 5;

/// Where a recurring campaign stands.
#[derive(Debug, Clone)]
pub struct RecurringStatus {
    pub campaign: Campaign,
    pub schedule: RecurringSchedule,
    /// The zone of the schedule.
    pub zone: Zone,
    /// How often it went out.
    pub completed: u32,
    /// When it is due; where it is not live, when it would be if it were.
    pub upcoming: Vec<Timestamp>,
    /// Its trial of variants.
    pub trial: Option<Trial>,
}

/// Where a recurring campaign stands.
///
/// # Errors
/// Not found; a bad request where it is not recurring.
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

pub(super) fn refuse_others(campaign: &Campaign) -> Result<()> {
    if campaign.definition.kind() == Kind::Recurring {
        return Ok(());
    }
    Err(Error::bad_request("The campaign is not recurring"))
}
