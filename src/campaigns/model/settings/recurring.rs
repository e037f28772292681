//! `recurringSchedule`: days, time of day, zone and end.

use chrono::{Datelike as _, Days, Months, NaiveDate, NaiveDateTime};
use kernel::{
    fields::{Fields, FromFields},
    time_of_day::TimeOfDay,
    zone::Zone,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{cron::Cron, end_date::EndDate, whole};

/// Default time of day.
pub const TIME_OF_DAY_DEFAULT: TimeOfDay = TimeOfDay::at(9, 0);
pub const OCCURRENCES_MAX: u32 = 100_000;
const WEEK_DAYS: u64 = 7;
const MONTH_DAYS_MAX: u32 = 31;
/// Names of the days, Sunday first, in the order of their numbers.
const WEEKDAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const SHORT_NAME_CHARS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Frequency {
    Daily,
    /// The days in `dayOfWeek`.
    Weekly,
    /// The day in `dayOfMonth`.
    Monthly,
    Custom,
}

impl Frequency {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("daily", Self::Daily),
        ("weekly", Self::Weekly),
        ("monthly", Self::Monthly),
        ("custom", Self::Custom),
    ];
}

/// Days of the week, 0 = Sunday; a single value without brackets is returned as such.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum DaysOfWeek {
    One(u8),
    Many(Vec<u8>),
}

impl DaysOfWeek {
    fn contain(&self, day: NaiveDate) -> bool {
        let number = u8::try_from(day.weekday().num_days_from_sunday()).unwrap_or(u8::MAX);
        match self {
            Self::One(one) => *one == number,
            Self::Many(many) => many.contains(&number),
        }
    }
}

/// The schedule of a recurring campaign. Fields that its frequency does not use are stored without effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecurringSchedule {
    pub frequency: Frequency,
    /// For `custom`: five fields, due at most once an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 255, examples("0 9 * * 1-5"))]
    pub cron: Option<Cron>,
    /// For `weekly`: 0 (Sunday) to 6, or a name; one or a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_of_week: Option<DaysOfWeek>,
    /// For `monthly`: 1 to 31; shorter months use their last day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31)]
    pub day_of_month: Option<u32>,
    /// For all but `custom`; default 09:00.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_of_day: Option<TimeOfDay>,
    /// The zone; default: that of `scheduledTimezone` or the workspace, resolved when the campaign is saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<Zone>,
    /// The last time, inclusive; a date alone is the end of that day in the zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<kernel::schema::Moment>)]
    pub end_date: Option<EndDate>,
    /// Largest number of occurrences.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100_000)]
    pub max_occurrences: Option<u32>,
}

impl FromFields for RecurringSchedule {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let frequency = body.required("frequency").one_of(Frequency::NAMED);
        let schedule = Self {
            frequency,
            cron: body.optional("cron").parsed(None, |text| Cron::parse(text).map(Some)).flatten(),
            day_of_week: days_of_week(body),
            day_of_month: whole(body.optional("dayOfMonth"), 1..=MONTH_DAYS_MAX),
            time_of_day: body.optional("timeOfDay").parsed(TIME_OF_DAY_DEFAULT, TimeOfDay::parse),
            timezone: body.optional("timezone").parsed(Zone::UTC, Zone::parse),
            end_date: EndDate::read(body.optional("endDate")),
            max_occurrences: whole(body.optional("maxOccurrences"), 1..=OCCURRENCES_MAX),
        };
        let needed = match frequency {
            Frequency::Daily => None,
            Frequency::Weekly => Some(("dayOfWeek", "weekly")),
            Frequency::Monthly => Some(("dayOfMonth", "monthly")),
            Frequency::Custom => Some(("cron", "custom")),
        };
        if let Some((field, word)) =
            needed.filter(|(field, _)| body.optional(field).unchecked().is_null())
        {
            body.refuse(field, format!("is required for the frequency {word}"));
        }
        schedule
    }
}

impl RecurringSchedule {
    /// The schedule with a fixed zone, so that changes to the workspace's do not affect it.
    #[must_use]
    pub fn in_zone(self, zone: Zone) -> Self {
        Self { timezone: self.timezone.or(Some(zone)), ..self }
    }

    /// The time of day of all frequencies but `custom`.
    pub fn time_of_day(&self) -> TimeOfDay {
        self.time_of_day.unwrap_or(TIME_OF_DAY_DEFAULT)
    }

    pub fn zone(&self, workspace_zone: Zone) -> Zone {
        self.timezone.unwrap_or(workspace_zone)
    }

    /// The next local time of the schedule after this one, ignoring `endDate`.
    pub(super) fn next_on_the_clock(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        let time = self.time_of_day().time();
        let later = |day: &NaiveDate| day.and_time(time) > after;
        let today = after.date();
        let day = match self.frequency {
            Frequency::Custom => return self.cron.as_ref()?.next(after),
            Frequency::Daily => days_from(today, 1).find(later),
            Frequency::Weekly => {
                let days = self.day_of_week.as_ref()?;
                days_from(today, WEEK_DAYS).filter(|day| days.contain(*day)).find(later)
            }
            Frequency::Monthly => {
                let day_of_month = self.day_of_month?;
                (0..=1).filter_map(|more| day_in_month(today, more, day_of_month)).find(later)
            }
        };
        day.map(|day| day.and_time(time))
    }

    /// Whether a local time that occurs twice is due twice, and a skipped one not at all.
    pub(super) fn counts_hours(&self) -> bool {
        self.frequency == Frequency::Custom && self.cron.as_ref().is_some_and(Cron::counts_hours)
    }
}

/// This day and the `more` days after it.
fn days_from(first: NaiveDate, more: u64) -> impl Iterator<Item = NaiveDate> {
    (0..=more).filter_map(move |days| first.checked_add_days(Days::new(days)))
}

/// The day of the month `more` months after `today`, or the last day of a shorter month.
fn day_in_month(today: NaiveDate, more: u32, day_of_month: u32) -> Option<NaiveDate> {
    // Adding months clamps to the last day, and the first of a month is never clamped.
    let month = today.with_day(1)?.checked_add_months(Months::new(more))?;
    let last = month.checked_add_months(Months::new(1))?.pred_opt()?.day();
    month.with_day(day_of_month.min(last))
}

/// `dayOfWeek`: a number or a name, or a list of them, without duplicates.
fn days_of_week(body: &mut Fields<'_>) -> Option<DaysOfWeek> {
    use serde_json::Value;
    let sent = body.optional("dayOfWeek").json()?;
    let refused = "must be 0 (Sunday) to 6, a day's name, or a list of these";
    let read = match &sent {
        Value::Array(list) if !list.is_empty() && list.len() <= WEEKDAYS.len() => {
            let days: Option<Vec<u8>> = list.iter().map(day_of_week).collect();
            days.map(|mut days| {
                days.sort_unstable();
                days.dedup();
                DaysOfWeek::Many(days)
            })
        }
        one => day_of_week(one).map(DaysOfWeek::One),
    };
    if read.is_none() {
        body.refuse("dayOfWeek", refused);
    }
    read
}

fn day_of_week(value: &serde_json::Value) -> Option<u8> {
    if let Some(name) = value.as_str() {
        let name = name.to_ascii_lowercase();
        let named = |day: &&str| **day == name || day.get(..SHORT_NAME_CHARS) == Some(&name);
        return WEEKDAYS.iter().position(named).and_then(|n| u8::try_from(n).ok());
    }
    let number = value.as_u64()?;
    u8::try_from(number).ok().filter(|number| usize::from(*number) < WEEKDAYS.len())
}
