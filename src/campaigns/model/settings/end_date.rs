//! The last day or time of a recurring campaign, inclusive.

use std::{fmt, str::FromStr};

use chrono::{NaiveDate, NaiveTime, TimeDelta};
use kernel::{
    DayEdge, NotATimestamp, Timestamp,
    fields::{Field, Optional},
    zone::Zone,
};
use serde::{Deserialize, Serialize};

use super::schedule;

/// A day in the zone of the schedule, or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndDate {
    /// Up to the end of this day.
    Day(NaiveDate),
    /// Up to and including this time.
    Moment(Timestamp),
}

impl EndDate {
    pub fn read(field: Field<'_, Optional>) -> Option<Self> {
        let placeholder = Self::Moment(Timestamp::from_millis(0));
        field.parsed(placeholder, |text| text.parse().map_err(|no: NotATimestamp| no.to_string()))
    }

    pub fn last(self, zone: Zone) -> Timestamp {
        match self {
            Self::Moment(moment) => moment,
            Self::Day(day) => {
                // The last millisecond before the next day begins, which clock changes may move.
                let next = day.succ_opt().unwrap_or(day).and_time(NaiveTime::MIN);
                let begins = zone.moments_of(next).chosen();
                (begins.utc() - TimeDelta::milliseconds(1)).into()
            }
        }
    }
}

impl FromStr for EndDate {
    type Err = NotATimestamp;

    fn from_str(text: &str) -> Result<Self, NotATimestamp> {
        // A time without a zone is UTC, as everywhere except in `scheduledAt`.
        let moment = schedule::resolve_at(text, DayEdge::Start, Zone::UTC)?;
        let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
        let alone = text.len() == "YYYY-MM-DD".len();
        Ok(day.filter(|_| alone).map_or(Self::Moment(moment), Self::Day))
    }
}

impl fmt::Display for EndDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => write!(f, "{day}"),
            Self::Moment(moment) => write!(f, "{moment}"),
        }
    }
}

impl Serialize for EndDate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EndDate {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_in_the_zone_of_the_schedule() {
        let table = [
            ("2026-12-31", "UTC", "2026-12-31T23:59:59.999Z"),
            ("2026-12-31", "Asia/Tokyo", "2026-12-31T14:59:59.999Z"),
            ("2026-03-08", "America/New_York", "2026-03-09T03:59:59.999Z"),
            // The next day begins at one o'clock there.
            ("2026-09-05", "America/Santiago", "2026-09-06T03:59:59.999Z"),
            ("2026-12-31T10:00:00+01:00", "Asia/Tokyo", "2026-12-31T09:00:00.000Z"),
            ("2026-12-31T10:00", "Asia/Tokyo", "2026-12-31T10:00:00.000Z"),
        ];
        for (text, zone, expected) in table {
            let end: EndDate = text.parse().unwrap();
            assert_eq!(end.last(zone.parse().unwrap()).to_string(), expected, "{text}");
            assert_eq!(end.to_string().parse(), Ok(end));
        }
        assert_eq!("2026-12-31".parse::<EndDate>().unwrap().to_string(), "2026-12-31");
        for text in ["", "2026-02-30", "31.12.2026", "2026-12-31T25:00"] {
            assert!(text.parse::<EndDate>().is_err(), "{text:?}");
        }
    }
}
