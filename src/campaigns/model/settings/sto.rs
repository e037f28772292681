//! `stoConfig`: how the hour at which a recipient is likeliest to look is found (DECISIONS F8).

use kernel::{
    fields::{Fields, FromFields},
    time_of_day::TimeOfDay,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::whole;

/// Longest window in which a message may be moved, in hours: a week.
pub const WINDOW_HOURS_MAX: u32 = 168;
/// Window without one, in hours.
pub const WINDOW_HOURS_DEFAULT: u32 = 24;
/// Farthest look back, in days.
pub const LOOKBACK_DAYS_MAX: u32 = 365;
/// Look back without one, in days.
pub const LOOKBACK_DAYS_DEFAULT: u32 = 90;
/// Most events that may be asked of a recipient.
pub const MIN_EVENTS_MAX: u32 = 1000;
/// Events asked of a recipient where nothing else is said.
pub const MIN_EVENTS_DEFAULT: u32 = 3;
/// The hour of the fallback where nothing else is said.
pub const FALLBACK_TIME_DEFAULT: TimeOfDay = TimeOfDay::at(9, 0);

/// What holds for a recipient of whom too little is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoFallback {
    /// The time the campaign goes out.
    #[default]
    ScheduledTime,
    /// The hour at which most look; `fallbackTime` where that is not known either.
    PopularHour,
}

impl StoFallback {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("scheduled_time", Self::ScheduledTime), ("popular_hour", Self::PopularHour)];
}

/// How the hour of each recipient is found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoConfig {
    /// Hours from the start in which messages go out, 1 to 168; 24 without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 168)]
    pub window_hours: Option<u32>,
    /// Days of behaviour that count, 1 to 365; 90 without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 365)]
    pub lookback_days: Option<u32>,
    /// Events without which nothing is known of a recipient, 1 to 1000; 3 without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub min_events: Option<u32>,
    /// What holds for such a recipient; `scheduled_time` without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<StoFallback>,
    /// The time of the fallback `popular_hour` while no hour is popular; 09:00 without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_time: Option<TimeOfDay>,
}

impl FromFields for StoConfig {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            window_hours: whole(body.optional("windowHours"), 1..=WINDOW_HOURS_MAX),
            lookback_days: whole(body.optional("lookbackDays"), 1..=LOOKBACK_DAYS_MAX),
            min_events: whole(body.optional("minEvents"), 1..=MIN_EVENTS_MAX),
            fallback: body.optional("fallback").one_of(StoFallback::NAMED),
            fallback_time: body
                .optional("fallbackTime")
                .parsed(FALLBACK_TIME_DEFAULT, TimeOfDay::parse),
        }
    }
}

impl StoConfig {
    /// Hours from the start in which messages go out.
    pub fn window_hours(&self) -> u32 {
        self.window_hours.unwrap_or(WINDOW_HOURS_DEFAULT)
    }

    /// Days of behaviour that count.
    pub fn lookback_days(&self) -> u32 {
        self.lookback_days.unwrap_or(LOOKBACK_DAYS_DEFAULT)
    }

    /// Events without which nothing is known of a recipient.
    pub fn min_events(&self) -> u32 {
        self.min_events.unwrap_or(MIN_EVENTS_DEFAULT)
    }

    /// What holds for a recipient of whom too little is known.
    pub fn fallback(&self) -> StoFallback {
        self.fallback.unwrap_or_default()
    }

    /// The time of the fallback `popular_hour` while no hour is popular.
    pub fn fallback_time(&self) -> TimeOfDay {
        self.fallback_time.unwrap_or(FALLBACK_TIME_DEFAULT)
    }
}
