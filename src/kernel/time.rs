//! Moments: kept in milliseconds since 1970, read from ISO 8601, printed in the two forms of the API.

use std::{fmt, time::Duration};

use chrono::{DateTime, Datelike as _, NaiveDate, Timelike as _, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An hour of any clock: leap seconds are not counted.
pub const HOUR: Duration = Duration::from_hours(1);
/// A day in UTC; local days may be shorter or longer.
pub const DAY: Duration = Duration::from_hours(24);
/// Farthest offset from UTC that ISO 8601 can write, in minutes.
const OFFSET_MINUTES_MAX: i64 = 24 * 60 - 1;

/// A moment, in milliseconds since 1970 UTC. Printed as RFC 3339 with milliseconds and `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, format = DateTime, examples("2026-03-01T12:00:00.000Z"))]
pub struct Timestamp(i64);

/// What a date without a time stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayEdge {
    /// The first millisecond of the UTC day.
    Start,
    /// The last millisecond of the UTC day.
    End,
}

/// The text is not an ISO 8601 date or date-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an ISO 8601 date or date-time")]
pub struct NotATimestamp;

impl Timestamp {
    /// Takes milliseconds since 1970 UTC.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since 1970 UTC.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The moment this much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// The moment this much earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// The time since an earlier moment; zero if that is later.
    pub fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The same moment for stores; moments outside chrono's quarter million years are clamped.
    pub fn utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or(if self.0 < 0 {
            DateTime::<Utc>::MIN_UTC
        } else {
            DateTime::<Utc>::MAX_UTC
        })
    }

    /// Reads ISO 8601: with an offset or `Z`, without a zone (UTC), or a date alone (its start).
    pub fn parse(text: &str) -> Result<Self, NotATimestamp> {
        Self::parse_at(text, DayEdge::Start)
    }

    /// Like [`Timestamp::parse`], with a date alone standing for that edge of its UTC day.
    ///
    /// Accepted: `YYYY-MM-DD`, then optionally `T` (or a blank) `HH:MM`, `:SS`, a fraction of one
    /// to nine digits (cut to milliseconds), and `Z`, `±HH`, `±HHMM` or `±HH:MM`. Second 60 is the
    /// leap second and reads as the next minute's start.
    pub fn parse_at(text: &str, edge: DayEdge) -> Result<Self, NotATimestamp> {
        Cursor(text.as_bytes()).date_time(edge).ok_or(NotATimestamp)
    }
}

/// The milliseconds of a duration; the greatest number if there are more.
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(moment: DateTime<Utc>) -> Self {
        Self(moment.timestamp_millis())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.utc();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second(),
            at.timestamp_subsec_millis().min(999),
        )
    }
}

impl std::str::FromStr for Timestamp {
    type Err = NotATimestamp;

    fn from_str(text: &str) -> Result<Self, NotATimestamp> {
        Self::parse(text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// A moment in the form events are read back in: `YYYY-MM-DD HH:MM:SS` UTC, cut to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(
    value_type = String,
    pattern = "^[0-9]{4,}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$",
    examples("2026-03-01 12:00:00")
)]
pub struct EventTime(pub Timestamp);

impl fmt::Display for EventTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.0.utc();
        write!(
            f,
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second(),
        )
    }
}

impl Serialize for EventTime {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is left of the text being read.
struct Cursor<'t>(&'t [u8]);

impl Cursor<'_> {
    fn date_time(mut self, edge: DayEdge) -> Option<Timestamp> {
        let year = self.digits(4)?;
        self.take(b"-")?;
        let month = self.digits(2)?;
        self.take(b"-")?;
        let day = self.digits(2)?;
        let date = NaiveDate::from_ymd_opt(
            i32::try_from(year).ok()?,
            u32::try_from(month).ok()?,
            u32::try_from(day).ok()?,
        )?;
        let midnight_ms = date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis();
        if self.0.is_empty() {
            return Some(Timestamp(match edge {
                DayEdge::Start => midnight_ms,
                DayEdge::End => midnight_ms + millis(DAY) - 1,
            }));
        }
        self.take(b"Tt ")?;
        let time_ms = self.time_ms()?;
        let offset_minutes = self.offset_minutes()?;
        self.0.is_empty().then(|| Timestamp(midnight_ms + time_ms - offset_minutes * 60_000))
    }

    fn time_ms(&mut self) -> Option<i64> {
        let hour = self.digits(2)?;
        self.take(b":")?;
        let minute = self.digits(2)?;
        let (mut second, mut ms) = (0, 0);
        if self.take(b":").is_some() {
            second = self.digits(2)?;
            if self.take(b".,").is_some() {
                ms = self.fraction_ms()?;
            }
        }
        (hour <= 23 && minute <= 59 && second <= 60)
            .then(|| ((hour * 60 + minute) * 60 + second) * 1000 + ms)
    }

    fn fraction_ms(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&count) {
            return None;
        }
        let nanoseconds = self.digits(count)? * 10_i64.pow(9 - u32::try_from(count).ok()?);
        Some(nanoseconds / 1_000_000)
    }

    /// Minutes east of UTC; 0 when no zone is written.
    fn offset_minutes(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.take(b"Zz").is_some() {
            return Some(0);
        }
        let sign = if self.take(b"+").is_some() {
            1
        } else {
            self.take(b"-")?;
            -1
        };
        let hours = self.digits(2)?;
        let minutes = if self.0.is_empty() {
            0
        } else {
            let _ = self.take(b":");
            self.digits(2)?
        };
        let total = hours * 60 + minutes;
        (minutes <= 59 && total <= OFFSET_MINUTES_MAX).then_some(sign * total)
    }

    /// The next `count` characters as a number, all of them digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (head, rest) = self.0.split_at_checked(count)?;
        let mut number = 0;
        for byte in head {
            if !byte.is_ascii_digit() {
                return None;
            }
            number = number * 10 + i64::from(byte - b'0');
        }
        self.0 = rest;
        Some(number)
    }

    /// Goes past the next character when it is one of these.
    fn take(&mut self, any_of: &[u8]) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        any_of.contains(first).then(|| self.0 = rest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_iso_8601_form_is_read() {
        let table = [
            ("2026-03-01T12:30:15.250Z", "2026-03-01T12:30:15.250Z"),
            ("2026-03-01T12:30:15Z", "2026-03-01T12:30:15.000Z"),
            ("2026-03-01T12:30:15", "2026-03-01T12:30:15.000Z"),
            ("2026-03-01 12:30:15", "2026-03-01T12:30:15.000Z"),
            ("2026-03-01t12:30z", "2026-03-01T12:30:00.000Z"),
            ("2026-03-01T12:30:15+02:00", "2026-03-01T10:30:15.000Z"),
            ("2026-03-01T00:30:15+0530", "2026-02-28T19:00:15.000Z"),
            ("2026-03-01T23:30:15-08", "2026-03-02T07:30:15.000Z"),
            ("2026-03-01T12:30:15.123456789Z", "2026-03-01T12:30:15.123Z"),
            ("2026-03-01T12:30:15,9Z", "2026-03-01T12:30:15.900Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
            ("2024-02-29", "2024-02-29T00:00:00.000Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
        ];
        for (text, expected) in table {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "now",
            "2026",
            "2026-03",
            "2026-3-1",
            "2026-02-30",
            "2026-13-01",
            "2026-03-01T",
            "2026-03-01T12",
            "2026-03-01T24:00:00Z",
            "2026-03-01T12:60:00Z",
            "2026-03-01T12:00:61Z",
            "2026-03-01T12:00:00.Z",
            "2026-03-01T12:00:00.1234567890Z",
            "2026-03-01T12:00:00+2",
            "2026-03-01T12:00:00+24:00",
            "2026-03-01T12:00:00+02:60",
            "2026-03-01T12:00:00Z ",
            " 2026-03-01",
            "2026-03-01x12:00",
            "20260301",
            "+002026-03-01",
            "２026-03-01",
            "1772366400000",
        ] {
            assert_eq!(Timestamp::parse(text), Err(NotATimestamp), "{text:?}");
        }
    }

    #[test]
    fn a_date_alone_stands_for_the_edge_asked_for() {
        let end = Timestamp::parse_at("2026-03-01", DayEdge::End).unwrap();
        assert_eq!(end.to_string(), "2026-03-01T23:59:59.999Z");
        let timed = Timestamp::parse_at("2026-03-01T10:00Z", DayEdge::End).unwrap();
        assert_eq!(timed.to_string(), "2026-03-01T10:00:00.000Z");
    }

    #[test]
    fn event_times_are_cut_to_the_second() {
        let at = Timestamp::parse("2026-03-01T12:30:15.999Z").unwrap();
        assert_eq!(EventTime(at).to_string(), "2026-03-01 12:30:15");
        assert_eq!(serde_json::to_string(&EventTime(at)).unwrap(), "\"2026-03-01 12:30:15\"");
    }

    proptest! {
        /// Years 0000 to 9999, the ones four digits can write.
        #[test]
        fn timestamps_survive_the_way_through_text(ms in -62_167_219_200_000_i64..=253_402_300_799_999) {
            let at = Timestamp::from_millis(ms);
            prop_assert_eq!(Timestamp::parse(&at.to_string()), Ok(at));
            let json = serde_json::to_string(&at).unwrap();
            prop_assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), at);
            prop_assert_eq!(Timestamp::from(at.utc()), at);
        }

        #[test]
        fn event_times_read_back_to_the_same_second(ms in -62_167_219_200_000_i64..=253_402_300_799_999) {
            let text = EventTime(Timestamp::from_millis(ms)).to_string();
            let read = Timestamp::parse(&text).unwrap();
            prop_assert_eq!(read.millis(), ms.div_euclid(1000) * 1000);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,40}") {
            let _ = Timestamp::parse(&text);
        }

        #[test]
        fn an_offset_shifts_the_moment_by_itself(ms in 0_i64..4_000_000_000_000, minutes in -1439_i64..=1439) {
            let sign = if minutes < 0 { '-' } else { '+' };
            let local = Timestamp::from_millis(ms + minutes * 60_000).to_string().replace('Z', "");
            let text = format!("{local}{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60);
            prop_assert_eq!(Timestamp::parse(&text), Ok(Timestamp::from_millis(ms)));
        }

        #[test]
        fn any_number_of_milliseconds_can_be_printed(ms: i64) {
            prop_assert!(Timestamp::from_millis(ms).to_string().ends_with('Z'));
        }
    }
}
