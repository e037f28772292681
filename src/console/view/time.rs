//! Times: relative, with the exact one when the pointer rests on it.

use kernel::{Timestamp, zone::Zone};
use maud::{Markup, html};

const MINUTE_MS: i64 = 60 * 1_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
const TWO_DAYS_MS: i64 = 2 * DAY_MS;
/// Above this age a date is clearer than a number of days.
const RELATIVE_MAX_MS: i64 = 30 * DAY_MS;

/// A time relative to `now`, with the exact time in the workspace's zone as its title.
pub fn ago(at: Timestamp, now: Timestamp, zone: Zone) -> Markup {
    html! {
        time datetime=(at.to_string()) title=(exact(at, zone)) { (relative(at, now, zone)) }
    }
}

/// A time to the second in a zone, with the zone's name.
pub fn exact(at: Timestamp, zone: Zone) -> String {
    format!("{} {}", zone.clock_at(at).format("%Y-%m-%d %H:%M:%S"), zone.name())
}

/// From when on figures are complete, where what is older is not kept.
pub fn complete_from(at: Option<Timestamp>, zone: Zone) -> Markup {
    html! {
        @if let Some(at) = at {
            p class="quiet" { "Complete from " time datetime=(at.to_string()) { (exact(at, zone)) } " on. What is older is not kept." }
        }
    }
}

/// Reads the time of a stored event: `2026-03-01 12:00:00`, in UTC.
pub fn event_time(text: &str) -> Option<Timestamp> {
    Timestamp::parse(&format!("{}Z", text.replace(' ', "T"))).ok()
}

fn relative(at: Timestamp, now: Timestamp, zone: Zone) -> String {
    let past_ms = now.millis().saturating_sub(at.millis());
    let ms = past_ms.saturating_abs();
    let (number, unit) = match ms {
        ..1_000 => return "now".to_owned(),
        1_000..MINUTE_MS => (ms / 1_000, "s"),
        MINUTE_MS..HOUR_MS => (ms / MINUTE_MS, "min"),
        HOUR_MS..DAY_MS => (ms / HOUR_MS, "h"),
        DAY_MS..TWO_DAYS_MS => (1, "day"),
        TWO_DAYS_MS..RELATIVE_MAX_MS => (ms / DAY_MS, "days"),
        _ => return zone.clock_at(at).format("%Y-%m-%d").to_string(),
    };
    if past_ms < 0 { format!("in {number} {unit}") } else { format!("{number} {unit} ago") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_events_are_in_utc() {
        let at = Timestamp::parse("2026-03-01T12:00:00Z").ok();
        assert_eq!(event_time("2026-03-01 12:00:00"), at);
        assert_eq!(event_time("yesterday"), None);
    }

    #[test]
    fn times_are_relative_until_a_date_is_clearer() {
        let now = Timestamp::parse("2026-03-01T12:00:00Z").unwrap();
        let zone = Zone::UTC;
        for (ms, text) in [
            (0, "now"),
            (999, "now"),
            (1_000, "1 s ago"),
            (59_999, "59 s ago"),
            (HOUR_MS - 1, "59 min ago"),
            (DAY_MS - 1, "23 h ago"),
            (DAY_MS, "1 day ago"),
            (3 * DAY_MS, "3 days ago"),
            (40 * DAY_MS, "2026-01-20"),
            (-90_000, "in 1 min"),
        ] {
            let at = Timestamp::from_millis(now.millis() - ms);
            assert_eq!(relative(at, now, zone), text, "{ms}");
        }
    }
}
