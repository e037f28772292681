//! When the sender has to look at a campaign.

use kernel::{Timestamp, zone::Zone};

use super::{Definition, Kind, Status, settings::occurrence::next_occurrence};

/// When a campaign that comes into a state has to be looked at: at its time, at its next occurrence after
/// having gone out so many times, at once, or never.
pub fn next_send_at(
    definition: &Definition,
    (status, occurrence): (Status, i32),
    now: Timestamp,
) -> Option<Timestamp> {
    let fired = u32::try_from(occurrence).unwrap_or(0);
    match (status, definition.kind()) {
        (Status::Scheduled, _) => definition.scheduled_for().or(Some(now)),
        (Status::Active, Kind::OneTime) => Some(now),
        (Status::Active, Kind::Recurring) => {
            let schedule = definition.recurring_schedule.as_ref()?;
            // Its zone was settled when it was written.
            next_occurrence(schedule, Zone::UTC, now, fired)
        }
        _ => None,
    }
}
