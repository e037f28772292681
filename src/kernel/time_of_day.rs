//! A time of day on a clock, `HH:mm`.

use std::{fmt, str::FromStr};

use chrono::NaiveTime;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Minutes of an hour.
const HOUR_MINUTES: u16 = 60;
/// Minutes of a day.
const DAY_MINUTES: u16 = 24 * HOUR_MINUTES;

/// Minutes since midnight, below a day's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$", examples("09:00"))]
pub struct TimeOfDay(u16);

/// The text is no time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a time of day as HH:mm, 00:00 to 23:59")]
pub struct NotATimeOfDay;

impl TimeOfDay {
    /// The time of day at this hour and minute.
    ///
    /// # Panics
    /// When a clock never shows it; meant for constants.
    pub const fn at(hour: u16, minute: u16) -> Self {
        assert!(hour < 24 && minute < HOUR_MINUTES, "no clock shows this");
        Self(hour * HOUR_MINUTES + minute)
    }

    /// Reads `HH:mm`, as readers of bodies do.
    ///
    /// # Errors
    /// What to say of another text.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|wrong: NotATimeOfDay| wrong.to_string())
    }

    /// For arithmetic on dates.
    pub fn time(self) -> NaiveTime {
        NaiveTime::from_num_seconds_from_midnight_opt(u32::from(self.0) * 60, 0)
            .expect("below a day's minutes")
    }
}

impl FromStr for TimeOfDay {
    type Err = NotATimeOfDay;

    fn from_str(text: &str) -> Result<Self, NotATimeOfDay> {
        let [h1, h2, b':', m1, m2] = text.as_bytes() else { return Err(NotATimeOfDay) };
        if ![h1, h2, m1, m2].iter().all(|byte| byte.is_ascii_digit()) {
            return Err(NotATimeOfDay);
        }
        let two = |tens: &u8, ones: &u8| u16::from((tens - b'0') * 10 + (ones - b'0'));
        let (hour, minute) = (two(h1, h2), two(m1, m2));
        let minutes = hour * HOUR_MINUTES + minute;
        let shown = minute < HOUR_MINUTES && minutes < DAY_MINUTES;
        if shown { Ok(Self(minutes)) } else { Err(NotATimeOfDay) }
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / HOUR_MINUTES, self.0 % HOUR_MINUTES)
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeOfDay {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_minute_of_a_day_survives_the_way_through_text() {
        for minutes in 0..DAY_MINUTES {
            let time = TimeOfDay(minutes);
            assert_eq!(time.to_string().parse(), Ok(time));
            assert_eq!(time.time().to_string(), format!("{time}:00"));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "9:00", "09:0", "24:00", "09:60", "09:00:00", "0900", "-1:00", "09.00", "９:00"]
        {
            assert_eq!(text.parse::<TimeOfDay>(), Err(NotATimeOfDay), "{text:?}");
        }
    }
}
