//! The next occurrence of a schedule: pure arithmetic on a schedule, a zone and a time.
//!
//! A schedule consists of local times. A local time that a clock change skips is due at the first moment
//! after the gap, one that occurs twice at the earlier moment: none is lost and none is due twice (RFC 5545
//! §3.3.5, Vixie cron). A cron expression that matches hours (`*` among its hours) is due every time its
//! local time occurs.

use chrono::{NaiveDateTime, TimeDelta};
use kernel::{
    Timestamp,
    zone::{Moments, Zone},
};

use super::recurring::RecurringSchedule;

/// Largest shift of clocks backwards.
const SET_BACK_MAX: TimeDelta = TimeDelta::days(1);
/// Local times considered for one occurrence: a day of hourly times that is set back, and a margin.
const CANDIDATES_MAX: usize = 100;

/// The first occurrence after a time, given `fired` occurrences so far. None if the schedule is over: by
/// `endDate`, by `maxOccurrences`, or at the end of the library's calendar.
pub fn next_occurrence(
    schedule: &RecurringSchedule,
    workspace_zone: Zone,
    after: Timestamp,
    fired: u32,
) -> Option<Timestamp> {
    if schedule.max_occurrences.is_some_and(|max| fired >= max) {
        return None;
    }
    let zone = schedule.zone(workspace_zone);
    let next = next_moment(schedule, zone, after)?;
    let over = schedule.end_date.is_some_and(|end| next > end.last(zone));
    (!over).then_some(next)
}

/// The next occurrences, at most `n`.
pub fn upcoming(
    schedule: &RecurringSchedule,
    workspace_zone: Zone,
    after: Timestamp,
    fired: u32,
    n: usize,
) -> Vec<Timestamp> {
    let mut found = Vec::with_capacity(n);
    let (mut last, mut fired) = (after, fired);
    while found.len() < n {
        let Some(next) = next_occurrence(schedule, workspace_zone, last, fired) else { break };
        found.push(next);
        (last, fired) = (next, fired.saturating_add(1));
    }
    found
}

fn next_moment(schedule: &RecurringSchedule, zone: Zone, after: Timestamp) -> Option<Timestamp> {
    let counts_hours = schedule.counts_hours();
    let mut clock: NaiveDateTime = zone.clock_at(after).checked_sub_signed(SET_BACK_MAX)?;
    let mut best: Option<Timestamp> = None;
    for _ in 0..CANDIDATES_MAX {
        clock = schedule.next_on_the_clock(clock)?;
        let moments = zone.moments_of(clock);
        let due = match (moments, counts_hours) {
            (Moments::Skipped(_), true) => [None, None],
            (Moments::Two(earlier, later), true) => [Some(earlier), Some(later)],
            (moments, _) => [Some(moments.chosen()), None],
        };
        for moment in due.into_iter().flatten().filter(|moment| *moment > after) {
            best = Some(best.map_or(moment, |best| best.min(moment)));
        }
        // Later local times begin no earlier, so no better candidate can follow.
        if best.is_some_and(|best| moments.chosen() >= best) {
            break;
        }
    }
    best
}
