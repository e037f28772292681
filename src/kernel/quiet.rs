//! `quietTimeOverride`: hours in which a campaign does not send, instead of the workspace's.

use chrono::{NaiveDateTime, NaiveTime};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{time_of_day::TimeOfDay, zone::Zone};
use crate::{
    Timestamp,
    fields::{Fields, FromFields},
};

/// When quiet hours begin that do not say so.
pub const START_DEFAULT: TimeOfDay = TimeOfDay::at(22, 0);
/// When quiet hours end that do not say so.
pub const END_DEFAULT: TimeOfDay = TimeOfDay::at(8, 0);

/// On whose clocks the hours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuietZone {
    /// Each recipient's own (`attributes.timezone`).
    Recipient,
    /// One zone for all profiles.
    Fixed(Zone),
}

/// What becomes of a message that is due in quiet hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuietBehavior {
    /// It goes out when they end.
    #[default]
    Defer,
    /// It does not go out.
    Skip,
}

impl QuietBehavior {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("defer", Self::Defer), ("skip", Self::Skip)];
}

/// Quiet hours of one campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuietTimeOverride {
    /// False: the workspace's quiet hours do not hold for this campaign, and it has none. True without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The first quiet minute; 22:00 without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<TimeOfDay>,
    /// The first minute that is not quiet any more, of the next day when before `start`; 08:00 without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<TimeOfDay>,
    /// `recipient`, as without a word, or an IANA name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, examples("recipient"))]
    pub timezone: Option<QuietZone>,
    /// `defer` without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<QuietBehavior>,
}

impl FromFields for QuietTimeOverride {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let quiet = Self {
            enabled: body.optional("enabled").bool(),
            start: body.optional("start").parsed(START_DEFAULT, TimeOfDay::parse),
            end: body.optional("end").parsed(END_DEFAULT, TimeOfDay::parse),
            timezone: body.optional("timezone").parsed(QuietZone::Recipient, QuietZone::parse),
            behavior: body.optional("behavior").one_of(QuietBehavior::NAMED),
        };
        if quiet.start() == quiet.end() {
            body.refuse("end", "must differ from start");
        }
        quiet
    }
}

impl QuietTimeOverride {
    /// Whether the campaign has quiet hours.
    pub fn is_enabled(&self) -> bool {
        self.enabled != Some(false)
    }

    /// The first quiet minute.
    pub fn start(&self) -> TimeOfDay {
        self.start.unwrap_or(START_DEFAULT)
    }

    /// The first minute that is not quiet any more.
    pub fn end(&self) -> TimeOfDay {
        self.end.unwrap_or(END_DEFAULT)
    }

    /// The zone whose local time decides.
    pub fn zone(&self) -> QuietZone {
        self.timezone.unwrap_or(QuietZone::Recipient)
    }

    /// What becomes of a message that is due in them.
    pub fn behavior(&self) -> QuietBehavior {
        self.behavior.unwrap_or_default()
    }

    /// Whether a moment lies in them, on clocks of this zone.
    pub fn covers(&self, at: Timestamp, zone: Zone) -> bool {
        self.is_enabled() && self.covers_time(zone.clock_at(at).time())
    }

    fn covers_time(&self, time: NaiveTime) -> bool {
        let (start, end) = (self.start().time(), self.end().time());
        if start < end { start <= time && time < end } else { start <= time || time < end }
    }

    /// The moment they end, for one in them.
    pub fn ends(&self, at: Timestamp, zone: Zone) -> Option<Timestamp> {
        if !self.covers(at, zone) {
            return None;
        }
        let clock: NaiveDateTime = zone.clock_at(at);
        let end = self.end().time();
        let day = if clock.time() < end { clock.date() } else { clock.date().succ_opt()? };
        let ends = zone.moments_of(day.and_time(end)).chosen();
        // Clocks set back from beyond the end into the quiet hours: over with the second pass.
        if ends > at { Some(ends) } else { Some(later_of(zone, day.and_time(end))) }
    }
}

fn later_of(zone: Zone, clock: NaiveDateTime) -> Timestamp {
    match zone.moments_of(clock) {
        super::zone::Moments::Two(_, later) => later,
        one => one.chosen(),
    }
}

impl QuietZone {
    fn parse(text: &str) -> Result<Self, String> {
        if text == RECIPIENT {
            return Ok(Self::Recipient);
        }
        Zone::parse(text)
            .map(Self::Fixed)
            .map_err(|_| "must be recipient or an IANA time zone such as Europe/Berlin".to_owned())
    }
}

/// How [`QuietZone::Recipient`] is written.
const RECIPIENT: &str = "recipient";

impl Serialize for QuietZone {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Recipient => RECIPIENT,
            Self::Fixed(zone) => zone.name(),
        })
    }
}

impl<'de> Deserialize<'de> for QuietZone {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quiet(start: &str, end: &str) -> QuietTimeOverride {
        QuietTimeOverride {
            enabled: None,
            start: Some(start.parse().unwrap()),
            end: Some(end.parse().unwrap()),
            timezone: None,
            behavior: None,
        }
    }

    #[test]
    fn quiet_hours_may_cross_midnight_and_exclude_their_end() {
        let table = [
            ("22:00", "08:00", "Europe/Berlin", "2026-01-10T20:59:59.999Z", None),
            (
                "22:00",
                "08:00",
                "Europe/Berlin",
                "2026-01-10T21:00:00Z",
                Some("2026-01-11T07:00:00.000Z"),
            ),
            (
                "22:00",
                "08:00",
                "Europe/Berlin",
                "2026-01-11T06:59:59Z",
                Some("2026-01-11T07:00:00.000Z"),
            ),
            ("22:00", "08:00", "Europe/Berlin", "2026-01-11T07:00:00Z", None),
            ("12:00", "14:00", "UTC", "2026-01-11T13:00:00Z", Some("2026-01-11T14:00:00.000Z")),
            ("12:00", "14:00", "UTC", "2026-01-11T11:59:59Z", None),
            // The end lies in the gap: the first moment after it.
            (
                "22:00",
                "02:30",
                "America/New_York",
                "2026-03-08T06:00:00Z",
                Some("2026-03-08T07:00:00.000Z"),
            ),
            // The end comes twice; quiet in the first pass, and not in the hour after it has come...
            (
                "22:00",
                "01:30",
                "America/New_York",
                "2026-11-01T05:00:00Z",
                Some("2026-11-01T05:30:00.000Z"),
            ),
            // ...but the clocks go back into quiet hours, which then end for good.
            (
                "22:00",
                "01:30",
                "America/New_York",
                "2026-11-01T06:10:00Z",
                Some("2026-11-01T06:30:00.000Z"),
            ),
        ];
        for (start, end, zone, at, ends) in table {
            let at = Timestamp::parse(at).unwrap();
            let found = quiet(start, end).ends(at, zone.parse().unwrap());
            assert_eq!(found.map(|ends| ends.to_string()).as_deref(), ends, "{start} {end} {at}");
        }
    }

    #[test]
    fn a_campaign_may_have_no_quiet_hours_at_all() {
        let none = QuietTimeOverride { enabled: Some(false), ..quiet("00:00", "23:59") };
        assert!(!none.covers(Timestamp::from_millis(0), Zone::UTC));
        assert_eq!(none.ends(Timestamp::from_millis(0), Zone::UTC), None);
    }

    proptest! {
        #[test]
        fn quiet_hours_end_within_about_a_day_of_every_moment_in_them(
            start in 0_u16..1440, end in 0_u16..1440, s in 1_577_836_800_i64..1_893_456_000, zone in 0_usize..4,
        ) {
            prop_assume!(start != end);
            let zone = ["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"][zone];
            let zone: Zone = zone.parse().unwrap();
            let time = |minutes: u16| TimeOfDay::at(minutes / 60, minutes % 60).to_string();
            let quiet = quiet(&time(start), &time(end));
            let at = Timestamp::from_millis(s * 1000);
            match quiet.ends(at, zone) {
                None => prop_assert!(!quiet.covers(at, zone)),
                Some(ends) => {
                    prop_assert!(at < ends && ends.millis() - at.millis() <= 26 * 3_600_000);
                    let before = Timestamp::from_millis(ends.millis() - 1);
                    prop_assert!(quiet.covers(before, zone), "quiet to the last millisecond");
                }
            }
        }
    }
}
