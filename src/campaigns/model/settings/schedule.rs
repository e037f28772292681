//! `scheduledAt`: a single time.

use std::ops::RangeInclusive;

use kernel::{DayEdge, NotATimestamp, Timestamp, zone::Zone};

/// Times with a year of four digits, in milliseconds: the years 0 to 9999.
const WRITTEN_MS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// The time of `scheduledAt`: with an offset or `Z` that very time; without one a local time in `zone` (or
/// the workspace's zone). A local time that a clock change skips is the first moment after the gap, one that
/// occurs twice the earlier moment. A date alone is its first moment.
///
/// # Errors
/// The text is not an ISO 8601 date or date-time of the years 0 to 9999.
pub fn resolve(
    text: &str,
    zone: Option<Zone>,
    workspace_zone: Zone,
) -> Result<Timestamp, NotATimestamp> {
    resolve_at(text, DayEdge::Start, zone.unwrap_or(workspace_zone))
}

/// Like [`resolve`], with a date standing for that edge of its day in the zone.
pub(super) fn resolve_at(
    text: &str,
    edge: DayEdge,
    zone: Zone,
) -> Result<Timestamp, NotATimestamp> {
    let read = Timestamp::parse_at(text, edge)?;
    let moment =
        if has_offset(text) { read } else { zone.moments_of(read.utc().naive_utc()).chosen() };
    if WRITTEN_MS.contains(&moment.millis()) { Ok(moment) } else { Err(NotATimestamp) }
}

/// Whether a date-time has an offset: these characters mean that only after the date.
fn has_offset(text: &str) -> bool {
    const DATE_CHARS: usize = "YYYY-MM-DD".len();
    text.get(DATE_CHARS..).is_some_and(|rest| rest.contains(['Z', 'z', '+', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_by_its_offset_or_else_by_its_zone() {
        let table = [
            // An offset has precedence over any zone.
            ("2026-07-01T09:00:00Z", Some("America/New_York"), "2026-07-01T09:00:00.000Z"),
            ("2026-07-01T09:00:00+02:00", Some("America/New_York"), "2026-07-01T07:00:00.000Z"),
            ("2026-07-01T09:00:00-0330", None, "2026-07-01T12:30:00.000Z"),
            ("2026-07-01T09:00z", None, "2026-07-01T09:00:00.000Z"),
            // The given zone, else the workspace's (here Berlin).
            ("2026-07-01T09:00:00", Some("America/New_York"), "2026-07-01T13:00:00.000Z"),
            ("2026-01-01T09:00:00", Some("America/New_York"), "2026-01-01T14:00:00.000Z"),
            ("2026-07-01T09:00:00", None, "2026-07-01T07:00:00.000Z"),
            ("2026-07-01 09:00:00.250", Some("UTC"), "2026-07-01T09:00:00.250Z"),
            ("2026-07-01", Some("Asia/Tokyo"), "2026-06-30T15:00:00.000Z"),
            // A gap: the first moment after it. An overlap: the earlier of the two.
            ("2026-03-08T02:30:00", Some("America/New_York"), "2026-03-08T07:00:00.000Z"),
            ("2026-03-08T02:00:00", Some("America/New_York"), "2026-03-08T07:00:00.000Z"),
            ("2026-11-01T01:30:00", Some("America/New_York"), "2026-11-01T05:30:00.000Z"),
            ("2026-03-29T02:30:00", None, "2026-03-29T01:00:00.000Z"),
            ("2026-10-25T02:30:00", None, "2026-10-25T00:30:00.000Z"),
            // Midnight itself is skipped there.
            ("2026-09-06", Some("America/Santiago"), "2026-09-06T04:00:00.000Z"),
        ];
        let berlin: Zone = "Europe/Berlin".parse().unwrap();
        for (text, zone, expected) in table {
            let zone = zone.map(|name| name.parse().unwrap());
            let moment = resolve(text, zone, berlin).unwrap();
            assert_eq!(moment.to_string(), expected, "{text} {zone:?}");
        }
    }

    #[test]
    fn years_have_four_digits() {
        let honolulu: Zone = "Pacific/Honolulu".parse().unwrap();
        let last = resolve("9999-12-31T13:59:59.999", Some(honolulu), Zone::UTC).unwrap();
        assert_eq!(last.to_string(), "9999-12-31T23:59:59.999Z");
        assert!(resolve("9999-12-31T14:00:00", Some(honolulu), Zone::UTC).is_err());
        assert!(resolve("9999-12-31T23:59:59-00:01", None, Zone::UTC).is_err());
        assert!(resolve("0000-01-01T00:00:00+00:01", None, Zone::UTC).is_err());
        for text in ["", "tomorrow", "2026-02-30", "2026-03-01T25:00", "１"] {
            assert!(resolve(text, None, Zone::UTC).is_err(), "{text:?}");
        }
    }
}
