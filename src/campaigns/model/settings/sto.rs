//! `stoConfig`: the estimation of the hour at which a recipient is most likely to engage.

use kernel::{
    fields::{Fields, FromFields},
    time_of_day::TimeOfDay,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::whole;

/// Longest window in which a message may be moved, in hours: a week.
pub const WINDOW_HOURS_MAX: u32 = 168;
/// Default window, in hours.
pub const WINDOW_HOURS_DEFAULT: u32 = 24;
/// Longest lookback, in days.
pub const LOOKBACK_DAYS_MAX: u32 = 365;
/// Default lookback, in days.
pub const LOOKBACK_DAYS_DEFAULT: u32 = 90;
/// Largest number of required events.
pub const MIN_EVENTS_MAX: u32 = 1000;
/// Default number of required events.
pub const MIN_EVENTS_DEFAULT: u32 = 3;
/// Default hour of the fallback.
pub const FALLBACK_TIME_DEFAULT: TimeOfDay = TimeOfDay::at(9, 0);

/// The time for a recipient with too few events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoFallback {
    /// The campaign's scheduled time.
    #[default]
    ScheduledTime,
    /// The most popular hour; `fallbackTime` if that is not known either.
    PopularHour,
}

impl StoFallback {
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("scheduled_time", Self::ScheduledTime), ("popular_hour", Self::PopularHour)];
}

/// The settings of send-time optimisation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoConfig {
    /// Hours from the start in which messages are sent, 1 to 168; default 24.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 168)]
    pub window_hours: Option<u32>,
    /// Days of behaviour that count, 1 to 365; default 90.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 365)]
    pub lookback_days: Option<u32>,
    /// Required events of a recipient, 1 to 1000; default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub min_events: Option<u32>,
    /// The time for recipients with fewer events; default `scheduled_time`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<StoFallback>,
    /// The time of the fallback `popular_hour` while no hour is known; default 09:00.
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
    pub fn window_hours(&self) -> u32 {
        self.window_hours.unwrap_or(WINDOW_HOURS_DEFAULT)
    }

    pub fn lookback_days(&self) -> u32 {
        self.lookback_days.unwrap_or(LOOKBACK_DAYS_DEFAULT)
    }

    pub fn min_events(&self) -> u32 {
        self.min_events.unwrap_or(MIN_EVENTS_DEFAULT)
    }

    pub fn fallback(&self) -> StoFallback {
        self.fallback.unwrap_or_default()
    }

    pub fn fallback_time(&self) -> TimeOfDay {
        self.fallback_time.unwrap_or(FALLBACK_TIME_DEFAULT)
    }
}
