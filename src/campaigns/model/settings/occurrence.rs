//! When a schedule is due next: pure arithmetic over a schedule, a zone and a moment.
//!
//! A schedule names times on a clock. A named time that the clocks skip is due at the first moment after the
//! gap, one they show twice at the earlier moment: nothing is skipped and nothing twice (RFC 5545 §3.3.5,
//! Vixie cron). A cron expression that counts hours (`*` among its hours) is due at every moment that the
//! clocks show one of its times.

use chrono::{NaiveDateTime, TimeDelta};
use kernel::{
    Timestamp,
    zone::{Moments, Zone},
};

use super::recurring::RecurringSchedule;

/// Farthest the clocks are ever set back.
const SET_BACK_MAX: TimeDelta = TimeDelta::days(1);
/// Times on the clock looked at for one occurrence: a day of each hour that is set back, and a margin.
const LOOKED_AT_MAX: usize = 100;

/// When the schedule is due for the first time after a moment, having fired `fired` times so far.
/// None when it is over: by `endDate`, by `maxOccurrences`, or because the calendar of the library ends.
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
    for _ in 0..LOOKED_AT_MAX {
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
        // Later times on the clock begin no earlier, so nothing can come before the best any more.
        if best.is_some_and(|best| moments.chosen() >= best) {
            break;
        }
    }
    best
}
