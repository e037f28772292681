//! A time zone by its IANA name, and what a time on its clocks means when the clocks jump.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::LazyLock};

use chrono::{DateTime, Days, NaiveDateTime, Offset as _, TimeDelta, TimeZone as _, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Timestamp;

/// Farthest a clock has ever been from UTC, rounded up to a day.
const OFFSET_MAX: TimeDelta = TimeDelta::days(1);

/// The zones of countries, by ISO 3166-1 alpha-2.
static COUNTRIES: LazyLock<BTreeMap<&str, Zone>> = LazyLock::new(|| {
    let lines = include_str!("countries.tab").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(country, name)| Some((country, name.parse().ok()?)))
        .collect()
});

/// A time zone of the IANA database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ToSchema)]
#[schema(value_type = String, examples("Europe/Berlin"))]
pub struct Zone(Tz);

/// The text names no time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an IANA time zone such as Europe/Berlin")]
pub struct NotAZone;

/// The moments at which the clocks of a zone show one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moments {
    /// The usual case: the local time exists once.
    One(Timestamp),
    /// The clocks are set back and show it twice.
    Two(Timestamp, Timestamp),
    /// The clocks are set forward and never show it; this is the first moment after the gap.
    Skipped(Timestamp),
}

impl Moments {
    /// The one moment a time stands for: the first after a gap, the earlier of two.
    pub const fn chosen(self) -> Timestamp {
        match self {
            Self::One(at) | Self::Two(at, _) | Self::Skipped(at) => at,
        }
    }
}

impl Zone {
    /// Coordinated Universal Time, the default.
    pub const UTC: Self = Self(Tz::UTC);

    /// Reads a name, as readers of bodies do.
    ///
    /// # Errors
    /// What to say of another text.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|wrong: NotAZone| wrong.to_string())
    }

    /// The zone of a profile: the one it names, else that of their country (ISO 3166-1 alpha-2),
    /// else the workspace's.
    pub fn of_person(timezone: Option<&str>, country: Option<&str>, workspace: Self) -> Self {
        let own = timezone.and_then(|name| name.parse().ok());
        let of_country = || {
            let country = country.filter(|code| code.len() == 2)?.to_ascii_uppercase();
            COUNTRIES.get(country.as_str()).copied()
        };
        own.or_else(of_country).unwrap_or(workspace)
    }

    /// The names of all zones.
    pub fn names() -> Vec<String> {
        chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name().to_owned()).collect()
    }

    /// The name in the IANA time zone database.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// What the clocks show at a moment, to the millisecond.
    pub fn clock_at(self, at: Timestamp) -> NaiveDateTime {
        self.clock_of(at.utc())
    }

    fn clock_of(self, at: DateTime<Utc>) -> NaiveDateTime {
        let utc = at.naive_utc();
        let offset = self.0.offset_from_utc_datetime(&utc).fix();
        // Only at the two ends of chrono's quarter million years.
        utc.checked_add_offset(offset).unwrap_or(utc)
    }

    /// The moments at which the clocks show this.
    pub fn moments_of(self, clock: NaiveDateTime) -> Moments {
        match self.0.from_local_datetime(&clock).map(|at| Timestamp::from(at.to_utc())) {
            chrono::LocalResult::Single(at) => Moments::One(at),
            chrono::LocalResult::Ambiguous(earlier, later) => {
                Moments::Two(earlier.min(later), earlier.max(later))
            }
            chrono::LocalResult::None => Moments::Skipped(self.end_of_gap(clock)),
        }
    }

    /// The first second at which the clocks show more than a time they never show.
    fn end_of_gap(self, skipped: NaiveDateTime) -> Timestamp {
        // The clocks show less than it at `before`, and at `after` more; there is one jump between.
        let mut before = (skipped - OFFSET_MAX - Days::new(1)).and_utc().timestamp();
        let mut after = (skipped + OFFSET_MAX).and_utc().timestamp();
        while after - before > 1 {
            let middle = before.midpoint(after);
            let at = DateTime::from_timestamp(middle, 0).unwrap_or(DateTime::<Utc>::MAX_UTC);
            if self.clock_of(at) > skipped {
                after = middle;
            } else {
                before = middle;
            }
        }
        Timestamp::from_millis(after * 1000)
    }
}

impl FromStr for Zone {
    type Err = NotAZone;

    fn from_str(text: &str) -> Result<Self, NotAZone> {
        text.parse().map(Self).map_err(|_| NotAZone)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Zone {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn zone(name: &str) -> Zone {
        name.parse().unwrap()
    }

    fn clock(text: &str) -> NaiveDateTime {
        text.parse().unwrap()
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn only_names_of_the_iana_database_are_zones() {
        for name in ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata"] {
            assert_eq!(zone(name).name(), name);
            let json = serde_json::to_string(&zone(name)).unwrap();
            assert_eq!(serde_json::from_str::<Zone>(&json).unwrap(), zone(name));
        }
        for text in ["", "europe/berlin", "Europe/Berlin ", "+02:00", "CET+1", "Mars/Olympus", "\0"]
        {
            assert_eq!(Zone::parse(text).unwrap_err(), NotAZone.to_string(), "{text:?}");
        }
    }

    #[test]
    fn a_time_on_the_clocks_is_one_moment_two_or_none() {
        let table = [
            ("America/New_York", "2026-03-08T01:59:59", Moments::One(at("2026-03-08T06:59:59Z"))),
            ("America/New_York", "2026-03-08T02:00:00", Moments::Skipped(at("2026-03-08T07:00Z"))),
            ("America/New_York", "2026-03-08T02:59:59", Moments::Skipped(at("2026-03-08T07:00Z"))),
            ("America/New_York", "2026-03-08T03:00:00", Moments::One(at("2026-03-08T07:00Z"))),
            (
                "America/New_York",
                "2026-11-01T01:30:00",
                Moments::Two(at("2026-11-01T05:30Z"), at("2026-11-01T06:30Z")),
            ),
            ("America/New_York", "2026-11-01T02:00:00", Moments::One(at("2026-11-01T07:00Z"))),
            ("Europe/Berlin", "2026-03-29T02:15:00", Moments::Skipped(at("2026-03-29T01:00Z"))),
            // Half an hour, at the other end of the world.
            (
                "Australia/Lord_Howe",
                "2026-10-04T02:10:00",
                Moments::Skipped(at("2026-10-03T15:30Z")),
            ),
            // Samoa went without the whole of a Friday.
            ("Pacific/Apia", "2011-12-30T12:00:00", Moments::Skipped(at("2011-12-30T10:00Z"))),
        ];
        for (name, shown, expected) in table {
            assert_eq!(zone(name).moments_of(clock(shown)), expected, "{name} {shown}");
        }
    }

    #[test]
    fn a_profile_without_a_zone_uses_its_countrys_zone() {
        let workspace: Zone = "Asia/Tokyo".parse().unwrap();
        for (timezone, country, expected) in [
            (Some("America/Denver"), Some("DE"), "America/Denver"),
            (Some("Mars/Base"), Some("DE"), "Europe/Berlin"),
            (None, Some("us"), "America/New_York"),
            (None, Some("AU"), "Australia/Sydney"),
            (None, Some("Germany"), "Asia/Tokyo"),
            (None, Some("ZZ"), "Asia/Tokyo"),
            (None, Some("\u{e9}"), "Asia/Tokyo"),
            (None, None, "Asia/Tokyo"),
        ] {
            assert_eq!(Zone::of_person(timezone, country, workspace).name(), expected);
        }
        let lines = include_str!("countries.tab").lines().filter(|line| !line.starts_with('#'));
        assert_eq!(COUNTRIES.len(), lines.count(), "each names a zone");
    }

    fn zones() -> impl Strategy<Value = Zone> {
        prop::sample::select(chrono_tz::TZ_VARIANTS.to_vec()).prop_map(Zone)
    }

    proptest! {
        /// 1970 to 2099, by the second.
        #[test]
        fn the_clocks_of_every_zone_lead_back_to_their_moment(zone in zones(), s in 0_i64..4_102_444_800) {
            let at = Timestamp::from_millis(s * 1000);
            match zone.moments_of(zone.clock_at(at)) {
                Moments::One(one) => prop_assert_eq!(one, at),
                Moments::Two(earlier, later) => {
                    prop_assert!(earlier < later);
                    prop_assert!(earlier == at || later == at);
                }
                Moments::Skipped(_) => prop_assert!(false, "the clocks do show it"),
            }
        }

        #[test]
        fn a_skipped_time_stands_for_the_first_moment_the_clocks_show_more(zone in zones(), s in 0_i64..4_102_444_800) {
            let shown = DateTime::from_timestamp(s, 0).unwrap().naive_utc();
            if let Moments::Skipped(end) = zone.moments_of(shown) {
                prop_assert!(zone.clock_at(end) > shown);
                prop_assert!(zone.clock_at(Timestamp::from_millis(end.millis() - 1000)) < shown);
            }
        }

        #[test]
        fn later_on_the_clock_is_never_an_earlier_moment(zone in zones(), s in 0_i64..4_102_444_800, more in 0_i64..200_000) {
            let clock = |s| DateTime::from_timestamp(s, 0).unwrap().naive_utc();
            let (first, second) = (zone.moments_of(clock(s)), zone.moments_of(clock(s + more)));
            prop_assert!(first.chosen() <= second.chosen());
        }

    #[test]
        fn no_moment_makes_a_clock_panic(zone in zones(), ms: i64) {
            let _ = zone.clock_at(Timestamp::from_millis(ms));
        }
    }
}
