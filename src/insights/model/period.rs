//! Ranges of time, and the calendar intervals they are made of.

use analytics::insights::Span;
use chrono::{Datelike as _, Days, Months, NaiveDate, NaiveTime, Timelike as _};
use kernel::{
    FieldError, Result, Timestamp,
    fields::{Fields, FromFields, Words},
    schema::Moment,
    zone::{Moments, Zone},
};

use super::INTERVALS_MAX;

/// The length of an interval, on the clocks of a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// From the full hour.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From Monday's midnight (ISO 8601).
    Week,
    /// From the first of the month.
    Month,
}

const LAST_UNITS: &Words<Interval> = &[
    ("hours", Interval::Hour),
    ("days", Interval::Day),
    ("weeks", Interval::Week),
    ("months", Interval::Month),
];

/// The first and last year of a range: what the table of events can hold.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=2099;

/// An end of a range: a day of the time zone, or an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Day(NaiveDate),
    Instant(Timestamp),
}

impl End {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "must be an ISO 8601 date or date-time".to_owned();
        let end = if text.len() == "2011-01-31".len() {
            Self::Day(NaiveDate::parse_from_str(text, "%Y-%m-%d").map_err(|_| wrong())?)
        } else {
            Self::Instant(Timestamp::parse(text).map_err(|_| wrong())?)
        };
        let year = match end {
            Self::Day(day) => day.year(),
            Self::Instant(at) => at.utc().year(),
        };
        if YEARS.contains(&year) {
            return Ok(end);
        }
        Err(format!("must be between the years {} and {}", YEARS.start(), YEARS.end()))
    }
}

/// The last so many units, the running one included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Last {
    amount: u32,
    unit: Interval,
}

impl FromFields for Last {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let most = i64::try_from(INTERVALS_MAX).unwrap_or(i64::MAX);
        let amount = body.required("amount").integer(1..=most);
        Self {
            amount: u32::try_from(amount).unwrap_or_default(),
            unit: body.required("unit").one_of(LAST_UNITS),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Ends { from: End, to: Option<End> },
    Last(Last),
}

/// A range of time as it was asked for: `from` and `to`, or `last`, in a `timezone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    given: Given,
    /// The zone whose clocks count.
    pub zone: Zone,
}

#[cfg(test)]
impl Default for Period {
    fn default() -> Self {
        Self { given: Given::Last(Last { amount: 1, unit: Interval::Day }), zone: Zone::UTC }
    }
}

impl Period {
    /// Reads a range out of a question.
    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        let nothing = End::Instant(Timestamp::from_millis(0));
        let from = body
            .optional("from")
            .about("Start of the range, inclusive; a date alone is its whole day in `timezone`.")
            .as_type::<Moment>()
            .parsed(nothing, End::parse);
        let to = body
            .optional("to")
            .about("End of the range, inclusive; default now.")
            .as_type::<Moment>()
            .parsed(nothing, End::parse);
        let last = body
            .optional("last")
            .about("Instead of `from` and `to`: the running unit and those before it, until now.")
            .object::<Last>();
        let zone = body
            .optional("timezone")
            .about("IANA time zone of days, weeks and months; default UTC.")
            .as_type::<Zone>()
            .parsed(Zone::UTC, Zone::parse)
            .unwrap_or(Zone::UTC);
        let given = match (from, to, last) {
            (Some(from), to, None) => Given::Ends { from, to },
            (None, None, Some(last)) => Given::Last(last),
            (Some(_), _, Some(_)) | (None, Some(_), Some(_)) => {
                body.refuse("last", "must not stand beside from and to");
                Given::Ends { from: nothing, to: None }
            }
            (None, _, None) => {
                if !body.is_refused("from") && !body.is_refused("last") {
                    body.refuse("from", "is required, or last");
                }
                Given::Ends { from: nothing, to: None }
            }
        };
        Self { given, zone }
    }

    /// The range at a moment.
    ///
    /// # Errors
    /// Bad request when it ends before it begins.
    pub fn span(&self, now: Timestamp) -> Result<Span> {
        let span = match self.given {
            Given::Ends { from, to } => Span {
                start_ms: match from {
                    End::Day(day) => self.start_of(day),
                    End::Instant(at) => at.millis(),
                },
                end_ms: match to {
                    Some(End::Day(day)) => self.start_of(after(day, 1)) - 1,
                    Some(End::Instant(at)) => at.millis(),
                    None => now.millis(),
                },
            },
            Given::Last(Last { amount, unit }) => {
                Span { start_ms: self.back(now, unit, amount - 1), end_ms: now.millis() }
            }
        };
        if span.start_ms > span.end_ms {
            return Err(kernel::Error::Invalid(vec![FieldError::new(
                "from",
                "must not be after to",
            )]));
        }
        Ok(span)
    }

    /// The start of the interval that began so many units before the running one.
    fn back(&self, now: Timestamp, unit: Interval, amount: u32) -> i64 {
        if unit == Interval::Hour {
            // Hours on the clock may be shorter or longer; so many are counted back.
            let first = now.before(kernel::time::HOUR * (amount + 2));
            let starts = self.starts(Interval::Hour, first.millis(), now.millis());
            let place =
                starts.len().saturating_sub(usize::try_from(amount).unwrap_or(usize::MAX) + 1);
            return starts.get(place).copied().unwrap_or_default();
        }
        self.start_of(before(first_day(unit, self.day(now.millis())), unit, amount))
    }

    /// Starts of the intervals in which a range lies, ascending. The first may begin before the range.
    ///
    /// # Errors
    /// Bad request when there are more than [`INTERVALS_MAX`].
    pub fn intervals(&self, interval: Interval, span: Span) -> Result<Vec<i64>> {
        // Before millions are made.
        let shortest = match interval {
            Interval::Hour => 1_800_000,
            Interval::Day => 20 * 3_600_000,
            Interval::Week => 6 * 86_400_000,
            Interval::Month => 27 * 86_400_000,
        };
        let most = i64::try_from(INTERVALS_MAX).unwrap_or(i64::MAX);
        let too_many = || {
            kernel::Error::invalid(
                "interval",
                format!("must make at most {INTERVALS_MAX} intervals of the range"),
            )
        };
        if interval != Interval::Hour && (span.end_ms - span.start_ms) / shortest > 2 * most {
            return Err(too_many());
        }
        if (span.end_ms - span.start_ms) / shortest > 4 * most {
            return Err(too_many());
        }
        let starts = self.starts(interval, span.start_ms, span.end_ms);
        if starts.len() > INTERVALS_MAX { Err(too_many()) } else { Ok(starts) }
    }

    /// The same number of intervals right before those that begin here.
    pub fn before(&self, interval: Interval, first_ms: i64, count: usize) -> Vec<i64> {
        let count_u32 = u32::try_from(count).unwrap_or(u32::MAX);
        let from = match interval {
            Interval::Hour => first_ms - i64::from(count_u32 + 3) * 3_600_000,
            unit => self.start_of(before(self.day(first_ms), unit, count_u32 + 1)),
        };
        let mut starts = self.starts(interval, from, first_ms - 1);
        let surplus = starts.len().saturating_sub(count);
        starts.drain(..surplus);
        starts
    }

    /// Starts of so many intervals from the one that begins here, and the start of the one after them.
    pub fn following(&self, interval: Interval, first_ms: i64, count: usize) -> Vec<i64> {
        let days = match interval {
            Interval::Hour | Interval::Day => 1,
            Interval::Week => 7,
            Interval::Month => 31,
        };
        let count_i64 = i64::try_from(count).unwrap_or(i64::MAX / 86_400_000);
        let to_ms = first_ms.saturating_add((count_i64 + 3).saturating_mul(days * 86_400_000));
        let mut starts = self.starts(interval, first_ms, to_ms);
        starts.truncate(count + 1);
        starts
    }

    /// Starts of the intervals between two moments, both included, and of the one that the first lies in.
    fn starts(&self, interval: Interval, from_ms: i64, to_ms: i64) -> Vec<i64> {
        let mut starts = Vec::new();
        let mut day = first_day(interval, self.day(from_ms));
        if interval == Interval::Hour {
            // Where the clocks go back at midnight, the day before comes once more.
            day = day.checked_sub_days(Days::new(1)).unwrap_or(day);
        }
        loop {
            let start = self.start_of(day);
            if start > to_ms {
                break;
            }
            match interval {
                Interval::Hour => starts.extend(self.hours_of(day)),
                _ => starts.push(start),
            }
            day = match interval {
                Interval::Hour | Interval::Day => after(day, 1),
                Interval::Week => after(day, 7),
                Interval::Month => day.checked_add_months(Months::new(1)).unwrap_or(NaiveDate::MAX),
            };
        }
        starts.sort_unstable();
        // A day that the clocks leave out has no time of its own.
        starts.dedup();
        let first = starts.partition_point(|start| *start <= from_ms).saturating_sub(1);
        starts.drain(..first);
        starts.retain(|start| *start <= to_ms);
        starts
    }

    /// The full hours that the clocks show on a day; one that they show twice comes twice.
    fn hours_of(&self, day: NaiveDate) -> Vec<i64> {
        let mut hours = Vec::with_capacity(25);
        for hour in 0..24 {
            let Some(clock) = day.and_hms_opt(hour, 0, 0) else { continue };
            match self.zone.moments_of(clock) {
                Moments::One(at) | Moments::Skipped(at) => hours.push(at.millis()),
                Moments::Two(earlier, later) => hours.extend([earlier.millis(), later.millis()]),
            }
        }
        hours
    }

    /// The day that the clocks show.
    fn day(&self, at_ms: i64) -> NaiveDate {
        self.zone.clock_at(Timestamp::from_millis(at_ms)).date()
    }

    /// The first moment of a day.
    fn start_of(&self, day: NaiveDate) -> i64 {
        self.zone.moments_of(day.and_time(NaiveTime::MIN)).chosen().millis()
    }
}

/// The first day of the interval that a day lies in.
fn first_day(interval: Interval, day: NaiveDate) -> NaiveDate {
    match interval {
        Interval::Hour | Interval::Day => Some(day),
        Interval::Week => {
            day.checked_sub_days(Days::new(u64::from(day.weekday().num_days_from_monday())))
        }
        Interval::Month => day.with_day(1),
    }
    .unwrap_or(day)
}

fn after(day: NaiveDate, days: u64) -> NaiveDate {
    day.checked_add_days(Days::new(days)).unwrap_or(NaiveDate::MAX)
}

/// The day so many units before.
fn before(day: NaiveDate, unit: Interval, amount: u32) -> NaiveDate {
    let days = |each: u64| day.checked_sub_days(Days::new(each * u64::from(amount)));
    match unit {
        Interval::Hour | Interval::Day => days(1),
        Interval::Week => days(7),
        Interval::Month => day.checked_sub_months(Months::new(amount)),
    }
    .unwrap_or(NaiveDate::MIN)
}

/// A moment as answers of insights have it: to the second, where it is on a full one.
pub fn shown(ms: i64) -> String {
    let at = Timestamp::from_millis(ms);
    let text = at.to_string();
    if at.utc().nanosecond() == 0 { text.replace(".000Z", "Z") } else { text }
}

#[cfg(test)]
mod tests {
    use kernel::fields;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    struct Read(Period);

    impl FromFields for Read {
        fn from_fields(body: &mut Fields<'_>) -> Self {
            Self(Period::read(body))
        }
    }

    fn period(body: &serde_json::Value) -> Period {
        fields::read::<Read>(body).map(|read| read.0).unwrap()
    }

    fn at(text: &str) -> i64 {
        Timestamp::parse(text).unwrap().millis()
    }

    fn span(body: &serde_json::Value, now: &str) -> [String; 2] {
        let span = period(body).span(Timestamp::parse(now).unwrap()).unwrap();
        [shown(span.start_ms), shown(span.end_ms)]
    }

    #[test]
    fn a_date_is_its_whole_day_and_an_instant_itself() {
        let now = "2026-11-25T10:20:30.400Z";
        for (body, expected) in [
            (
                json!({"from": "2011-01-01", "to": "2011-01-31"}),
                ["2011-01-01T00:00:00Z", "2011-01-31T23:59:59.999Z"],
            ),
            (
                json!({"from": "2011-07-01", "to": "2011-07-01", "timezone": "Europe/Berlin"}),
                ["2011-06-30T22:00:00Z", "2011-07-01T21:59:59.999Z"],
            ),
            (json!({"from": "2011-01-01T10:00:00.5Z"}), ["2011-01-01T10:00:00.500Z", now]),
            (json!({"last": {"amount": 7, "unit": "days"}}), ["2026-11-19T00:00:00Z", now]),
            (json!({"last": {"amount": 1, "unit": "hours"}}), ["2026-11-25T10:00:00Z", now]),
            (json!({"last": {"amount": 2, "unit": "weeks"}}), ["2026-11-16T00:00:00Z", now]),
            (json!({"last": {"amount": 3, "unit": "months"}}), ["2026-09-01T00:00:00Z", now]),
            (
                json!({"last": {"amount": 2, "unit": "hours"}, "timezone": "Asia/Kolkata"}),
                ["2026-11-25T08:30:00Z", now],
            ),
        ] {
            assert_eq!(span(&body, now), expected, "{body}");
        }
    }

    #[test]
    fn a_range_that_is_none_is_refused_by_field() {
        for (body, expected) in [
            (json!({}), "from is required, or last"),
            (json!({"to": "2011-01-01"}), "from is required, or last"),
            (
                json!({"from": "2011-01-01", "last": {"amount": 1, "unit": "days"}}),
                "last must not stand beside from and to",
            ),
            (json!({"from": "yesterday"}), "from must be an ISO 8601 date or date-time"),
            (json!({"from": "2011-02-29"}), "from must be an ISO 8601 date or date-time"),
            (json!({"from": "1969-12-31"}), "from must be between the years 1970 and 2099"),
            (
                json!({"from": "2011-01-01", "to": "2100-01-01"}),
                "to must be between the years 1970 and 2099",
            ),
            (
                json!({"last": {"amount": 0, "unit": "days"}}),
                "last.amount must be between 1 and 5000",
            ),
            (
                json!({"last": {"amount": 1, "unit": "years"}}),
                "last.unit must be one of: hours, days, weeks, months",
            ),
            (
                json!({"from": "2011-01-01", "timezone": "Mars/Olympus"}),
                "timezone must be an IANA time zone such as Europe/Berlin",
            ),
        ] {
            let errors = fields::read::<Read>(&body).map(|_| ()).unwrap_err();
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts, [expected], "{body}");
        }
        let backwards = period(&json!({"from": "2011-01-02", "to": "2011-01-01"}));
        assert!(backwards.span(Timestamp::from_millis(0)).is_err());
    }

    fn intervals(interval: Interval, from: &str, to: &str, zone: &str) -> Vec<String> {
        let period = period(&json!({"from": "2011-01-01", "timezone": zone}));
        let span = Span { start_ms: at(from), end_ms: at(to) };
        period.intervals(interval, span).unwrap().into_iter().map(shown).collect()
    }

    #[test]
    fn intervals_begin_where_the_clocks_have_them() {
        // A Thursday; the clocks go back on the 1st of November and forward on the 8th of March.
        let cases: [(Interval, &str, &str, &str, &[&str]); 7] = [
            (
                Interval::Day,
                "2024-02-28T23:00:00Z",
                "2024-03-01T00:00:00Z",
                "UTC",
                &["2024-02-28T00:00:00Z", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"],
            ),
            (
                Interval::Week,
                "2024-02-29T12:00:00Z",
                "2024-03-04T00:00:00Z",
                "UTC",
                &["2024-02-26T00:00:00Z", "2024-03-04T00:00:00Z"],
            ),
            (
                Interval::Month,
                "2024-01-31T12:00:00Z",
                "2024-02-01T00:00:00Z",
                "Europe/Berlin",
                &["2023-12-31T23:00:00Z", "2024-01-31T23:00:00Z"],
            ),
            (
                Interval::Day,
                "2026-11-01T05:00:00Z",
                "2026-11-02T05:00:00Z",
                "America/New_York",
                &["2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"],
            ),
            (
                Interval::Hour,
                "2026-11-01T05:00:00Z",
                "2026-11-01T07:00:00Z",
                "America/New_York",
                &["2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z", "2026-11-01T07:00:00Z"],
            ),
            (
                Interval::Hour,
                "2026-03-08T06:30:00Z",
                "2026-03-08T07:30:00Z",
                "America/New_York",
                &["2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z"],
            ),
            // Samoa went without the 30th of December.
            (
                Interval::Day,
                "2011-12-29T12:00:00Z",
                "2011-12-31T00:00:00Z",
                "Pacific/Apia",
                &["2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"],
            ),
        ];
        for (interval, from, to, zone, expected) in cases {
            assert_eq!(intervals(interval, from, to, zone), expected, "{interval:?} {zone}");
        }
    }

    #[test]
    fn intervals_are_limited() {
        let period = period(&json!({"from": "2011-01-01"}));
        let hour = 3_600_000;
        let most = i64::try_from(INTERVALS_MAX).unwrap();
        let of = |count: i64| {
            period.intervals(Interval::Hour, Span { start_ms: 0, end_ms: count * hour - 1 })
        };
        assert_eq!(of(most).unwrap().len(), INTERVALS_MAX);
        assert!(of(most + 1).is_err());
        let century = Span { start_ms: 0, end_ms: at("2099-12-31") };
        assert!(period.intervals(Interval::Hour, century).is_err());
        assert!(period.intervals(Interval::Day, century).is_err());
        assert_eq!(period.intervals(Interval::Month, century).unwrap().len(), 130 * 12);
    }

    proptest! {
        #[test]
        fn every_moment_lies_in_the_interval_that_began_last(
            zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo"]),
            interval in prop::sample::select(vec![Interval::Hour, Interval::Day, Interval::Week, Interval::Month]),
            from in 946_684_800_i64..1_800_000_000, length in 0_i64..5_000_000,
        ) {
            let period = period(&json!({"from": "2011-01-01", "timezone": zone}));
            let span = Span { start_ms: from * 1000, end_ms: (from + length) * 1000 };
            let starts = period.intervals(interval, span).unwrap();
            prop_assert!(starts.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(starts[0] <= span.start_ms);
            prop_assert!(starts.get(1).is_none_or(|second| *second > span.start_ms));
            prop_assert!(*starts.last().unwrap() <= span.end_ms);
            let before = period.before(interval, starts[0], starts.len());
            prop_assert_eq!(before.len(), starts.len());
            prop_assert!(*before.last().unwrap() < starts[0]);
            // The two ranges touch: nothing begins between them.
            let all = period.intervals(interval, Span { start_ms: before[0], ..span }).unwrap();
            prop_assert_eq!(all, [before, starts].concat());
        }
    }
}
