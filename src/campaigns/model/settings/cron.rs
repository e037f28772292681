//! A cron expression of five fields that is due at most once an hour.

use std::{fmt, str::FromStr};

use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use croner::{
    Cron as Pattern,
    parser::{CronParser, Seconds, Year},
};
use serde::{Deserialize, Serialize};

pub const CRON_CHARS_MAX: usize = 255;
/// Shortest time between two occurrences.
pub const INTERVAL_MIN: TimeDelta = TimeDelta::hours(1);
/// Fields of an expression: minute, hour, day of month, month, day of week.
const FIELDS: usize = 5;
/// Consecutive occurrences that are checked against [`INTERVAL_MIN`]. They begin at a midnight, and
/// occurrences that are too close are within an hour of it; two days of hourly occurrences are a safety
/// margin.
const CHECKED: usize = 48;

/// A parsed cron expression that some day matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    /// The expression as it was sent.
    text: String,
    pattern: Box<Pattern>,
}

/// Why an expression is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronFault {
    /// It is too long.
    #[error("must be at most {CRON_CHARS_MAX} characters")]
    Length,
    #[error("must have 5 fields: minute, hour, day of month, month, day of week")]
    Fields,
    /// A field is invalid.
    #[error("must be a cron expression: {0}")]
    Syntax(String),
    #[error("must be due some day")]
    Never,
    #[error("must not be due more often than once an hour")]
    TooOften,
}

impl Cron {
    /// Parses an expression.
    ///
    /// # Errors
    /// The error message.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|fault: CronFault| fault.to_string())
    }

    /// Parses an expression without a limit on its frequency.
    fn of_any_interval(text: &str) -> Result<Self, CronFault> {
        if text.chars().count() > CRON_CHARS_MAX {
            return Err(CronFault::Length);
        }
        if text.split_whitespace().count() != FIELDS {
            return Err(CronFault::Fields);
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed);
        let pattern =
            parser.build().parse(text).map_err(|fault| CronFault::Syntax(fault.to_string()))?;
        Ok(Self { text: text.to_owned(), pattern: Box::new(pattern) })
    }

    /// The next matching local time after this one.
    pub(super) fn next(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        // It fails if there is none before the year 5000.
        self.pattern.find_next_occurrence(&after, false).ok()
    }

    /// Whether it matches hours rather than times of day: then a local time that occurs twice is due twice,
    /// and one that is skipped is not made up for, as in Vixie cron.
    pub(super) fn counts_hours(&self) -> bool {
        self.text.split_whitespace().nth(1).is_some_and(|hours| hours.contains('*'))
    }

    fn check_interval(&self) -> Result<(), CronFault> {
        let before = NaiveDate::from_ymd_opt(2023, 12, 31)
            .and_then(|date| date.and_hms_opt(23, 59, 59))
            .expect("a day of the calendar");
        let mut last = self.next(before).ok_or(CronFault::Never)?;
        for _ in 1..CHECKED {
            let Some(next) = self.next(last) else { break };
            if next - last < INTERVAL_MIN {
                return Err(CronFault::TooOften);
            }
            last = next;
        }
        Ok(())
    }
}

impl FromStr for Cron {
    type Err = CronFault;

    fn from_str(text: &str) -> Result<Self, CronFault> {
        let cron = Self::of_any_interval(text)?;
        cron.check_interval()?;
        Ok(cron)
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Cron {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Cron {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::of_any_interval(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An expression without the limit on its frequency, for tables of test cases.
    pub(in crate::model::settings) fn any_interval(text: &str) -> Cron {
        Cron::of_any_interval(text).unwrap()
    }

    #[test]
    fn expressions_due_at_most_hourly_are_read() {
        for text in [
            "0 * * * *",
            "59 * * * *",
            "0 9 * * 1-5",
            "0 9 * * MON,fri",
            "0 0,1,23 * * *",
            "15 */2 1,15 * *",
            "0 9 L * *",
            "0 9 * * 1#2",
            "0 0 29 2 *",
            "0 9 15W * *",
            "  0   9 * * *  ",
        ] {
            let cron = Cron::parse(text).unwrap();
            assert_eq!(serde_json::to_value(&cron).unwrap(), text);
            assert_eq!(serde_json::from_value::<Cron>(text.into()).unwrap(), cron);
        }
    }

    #[test]
    fn invalid_expressions_are_refused_with_the_reason() {
        let table = [
            ("* * * * *", CronFault::TooOften),
            ("*/30 * * * *", CronFault::TooOften),
            ("*/59 * * * *", CronFault::TooOften),
            ("0,59 * * * *", CronFault::TooOften),
            ("0,59 0,23 * * *", CronFault::TooOften),
            // Two minutes of one hour of one day a year.
            ("0,1 9 1 1 *", CronFault::TooOften),
            ("0,1 9 29 2 *", CronFault::TooOften),
            ("0 0 30 2 *", CronFault::Never),
            ("0 0 31 4,6,9,11 *", CronFault::Never),
            ("", CronFault::Fields),
            ("@daily", CronFault::Fields),
            ("0 9 * *", CronFault::Fields),
            ("0 0 9 * * *", CronFault::Fields),
            ("0 0 9 * * * 2030", CronFault::Fields),
        ];
        for (text, fault) in table {
            assert_eq!(text.parse::<Cron>().unwrap_err(), fault, "{text}");
        }
        for text in [
            "60 9 * * *",
            "0 24 * * *",
            "0 9 0 * *",
            "0 9 32 * *",
            "0 9 * 13 *",
            "0 9 * * 8",
            "a b c d e",
            "0 9 * * @",
            "-1 9 * * *",
            "0 9-1 * * *",
            "*/0 9 * * *",
            "é 9 * * *",
            "0 9 \0 * *",
        ] {
            let fault = text.parse::<Cron>().unwrap_err();
            assert!(matches!(fault, CronFault::Syntax(_)), "{text}: {fault}");
        }
        let long = format!("0 9 * * {}", "1,".repeat(CRON_CHARS_MAX));
        assert_eq!(long.parse::<Cron>().unwrap_err(), CronFault::Length);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9*/,#LW@?+ -]{0,24}|\\PC{0,24}") {
            let _ = text.parse::<Cron>();
        }

        #[test]
        fn accepted_expressions_are_due_at_most_hourly(
            minutes in "(\\*(/[1-9][0-9]?)?|[0-5]?[0-9](,[0-5]?[0-9]){0,2})",
            hours in "(\\*(/[1-9])?|1?[0-9](-2[0-3])?(,2[0-3])?)",
            days in "(\\*|[12]?[1-9])",
            s in 0_i64..2_000_000_000,
        ) {
            if let Ok(cron) = format!("{minutes} {hours} {days} * *").parse::<Cron>() {
                let mut last = chrono::DateTime::from_timestamp(s, 0).unwrap().naive_utc();
                last = cron.next(last).unwrap();
                for _ in 0..30 {
                    let next = cron.next(last).unwrap();
                    prop_assert!(next - last >= INTERVAL_MIN, "{last} {next}");
                    last = next;
                }
            }
        }
    }
}
