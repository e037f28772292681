//! When the scheduler has to start a campaign.

use kernel::{Timestamp, zone::Zone};

use super::{CampaignKind, Definition, Status, settings::occurrence::next_occurrence};

/// When a campaign that enters a status has to be started: at its scheduled time, at its next occurrence, at
/// once, or never.
pub fn next_send_at(
    definition: &Definition,
    status: Status,
    occurrence: i32,
    now: Timestamp,
) -> Option<Timestamp> {
    let fired = u32::try_from(occurrence).unwrap_or(0);
    match (status, definition.kind()) {
        (Status::Scheduled, _) => definition.scheduled_for().or(Some(now)),
        (Status::Active, CampaignKind::OneTime) => Some(now),
        (Status::Active, CampaignKind::Recurring) => {
            let schedule = definition.recurring_schedule.as_ref()?;
            // The zone was resolved when the campaign was saved.
            next_occurrence(schedule, Zone::UTC, now, fired)
        }
        _ => None,
    }
}
