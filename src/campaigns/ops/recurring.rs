//! Where a recurring campaign stands, and its trial of variants.

use crate::{
    app::App,
    campaigns::model::{
        Action, Campaign, Change, Kind, Status,
        settings::{occurrence::upcoming, recurring::RecurringSchedule, zone::Zone},
        trial::Trial,
    },
    kernel::{CampaignId, Error, Result, Timestamp},
};

use super::{Step, Who, change, find};

/// Occurrences to come that are told.
const UPCOMING_MAX: usize = 5;

/// Where a recurring campaign stands.
#[derive(Debug, Clone)]
pub struct RecurringStatus {
    /// The campaign.
    pub campaign: Campaign,
    /// Its schedule.
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
pub async fn recurring_status(app: &App, who: &Who, id: CampaignId) -> Result<RecurringStatus> {
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

/// Begins the trial of variants anew; what won before is only told.
///
/// # Errors
/// Not found; a bad request where the campaign is not recurring or tries no variants; a conflict where it is
/// over.
pub async fn retest_ab(app: &App, who: &Who, id: CampaignId) -> Result<Trial> {
    let campaign = change(app, who, id, |campaign, _| retested(campaign).map(Some)).await?;
    Trial::of(&campaign).ok_or_else(untried)
}

fn retested(campaign: &Campaign) -> Result<Step> {
    refuse_others(campaign)?;
    let before = Trial::of(campaign).ok_or_else(untried)?;
    let status = campaign.state.status;
    if matches!(status, Status::Completed | Status::Cancelled | Status::Archived | Status::Failed) {
        return Err(Error::Conflict(format!(
            "The campaign is {}: only one that goes on can try its variants again",
            status.as_str()
        )));
    }
    let after = before.again();
    let changes = vec![
        Change::of("/ab/round", before.round, after.round),
        Change::of("/ab/winnerVariantId", before.winner_variant_id.clone(), None::<String>),
    ];
    let mut campaign = campaign.clone();
    campaign.state.ab = Some(serde_json::to_value(&after).map_err(anyhow::Error::from)?);
    Ok(Step { campaign, action: Action::AbRetested, changes, call: None, version: None })
}

fn refuse_others(campaign: &Campaign) -> Result<()> {
    if campaign.definition.kind() == Kind::Recurring {
        return Ok(());
    }
    Err(Error::bad_request("The campaign is not recurring"))
}

fn untried() -> Error {
    Error::bad_request("The campaign tries no variants: abTestConfig is absent or not enabled")
}
