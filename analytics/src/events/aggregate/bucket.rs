//! Periods and what their events come to.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, TimeDelta, Utc};

use super::{Aggregate, Metric, Unit, question::PeriodRow};
use crate::{error::AnalyticsError, events::Figure};

/// Most periods an answer with filled gaps may hold: eleven years of hours.
pub const FILLED_BUCKETS_MAX: usize = 100_000;

/// One period. A figure that was not asked for, or that no event has a number for, is `None`;
/// the sum of no numbers is 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Start of the period, in milliseconds since 1970, UTC.
    pub period_ms: i64,
    /// Events of the period, with or without a number.
    pub count: u64,
    /// Their sum, exact to 6 decimal places.
    pub sum: Option<Figure>,
    /// Mean of the numbers, `None` without any.
    pub avg: Option<Figure>,
    /// The least of them.
    pub min: Option<Figure>,
    /// The greatest of them.
    pub max: Option<Figure>,
}

/// The answer to an [`Aggregate`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AggregateAnswer {
    /// Ascending; periods without events only when gaps were to be filled.
    pub rows: Vec<Bucket>,
    /// Matching events over all periods.
    pub total: u64,
}

/// Turns ClickHouse's rows into figures.
pub(super) fn answer(
    rows: &[PeriodRow],
    figures: &BTreeSet<Metric>,
) -> Result<AggregateAnswer, AnalyticsError> {
    let overflow = || AnalyticsError::Question("the numbers add up to more than can be reported");
    let asked = |metric| figures.contains(&metric);
    let mut answer = AggregateAnswer::default();
    for row in rows {
        let sum = asked(Metric::Sum)
            .then(|| Figure::from_sum(row.sum_units, row.sum_rest).ok_or_else(overflow));
        let avg = asked(Metric::Avg) && row.avg_count > 0;
        let avg = avg.then(|| {
            Figure::from_mean(row.avg_units, row.avg_rest, row.avg_count).ok_or_else(overflow)
        });
        answer.total += row.events;
        answer.rows.push(Bucket {
            period_ms: row.period_ms,
            count: row.events,
            sum: sum.transpose()?,
            avg: avg.transpose()?,
            min: row.least.and_then(Figure::from_f64),
            max: row.most.and_then(Figure::from_f64),
        });
    }
    Ok(answer)
}

/// Adds the periods that have no events.
pub(super) fn fill_gaps(
    answer: &mut AggregateAnswer,
    asked: &Aggregate,
) -> Result<(), AnalyticsError> {
    let ends = |given: Option<i64>, found: Option<&Bucket>| given.or(found.map(|b| b.period_ms));
    let first = ends(asked.start_ms, answer.rows.first());
    let last = ends(asked.end_ms, answer.rows.last());
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(());
    };
    let mut filled = Vec::new();
    let mut found = std::mem::take(&mut answer.rows).into_iter().peekable();
    let mut period = period_start(asked.group_by, first);
    while let Some(start) = period.filter(|start| start.timestamp_millis() <= last) {
        if filled.len() == FILLED_BUCKETS_MAX {
            return Err(AnalyticsError::Question("fillGaps would answer too many periods"));
        }
        let period_ms = start.timestamp_millis();
        filled.push(match found.next_if(|bucket| bucket.period_ms == period_ms) {
            Some(bucket) => bucket,
            None => empty(period_ms, asked),
        });
        period = next_period(asked.group_by, start);
    }
    answer.rows = filled;
    Ok(())
}

fn empty(period_ms: i64, asked: &Aggregate) -> Bucket {
    let sums = asked.metrics.contains(&Metric::Sum);
    Bucket {
        period_ms,
        count: 0,
        sum: sums.then(|| Figure::from_sum(0, 0.0)).flatten(),
        avg: None,
        min: None,
        max: None,
    }
}

/// The start of the period an instant lies in; the same rule as the fragments of the statement.
fn period_start(unit: Unit, at_ms: i64) -> Option<DateTime<Utc>> {
    let at = DateTime::from_timestamp_millis(at_ms)?;
    let day = at.date_naive();
    let midnight = |day: NaiveDate| Some(day.and_hms_opt(0, 0, 0)?.and_utc());
    match unit {
        Unit::Hour => DateTime::from_timestamp_millis(at_ms - at_ms.rem_euclid(3_600_000)),
        Unit::Day => midnight(day),
        Unit::Week => {
            let since_monday = u64::from(day.weekday().num_days_from_monday());
            midnight(day.checked_sub_days(Days::new(since_monday))?)
        }
        Unit::Month => midnight(day.with_day(1)?),
    }
}

fn next_period(unit: Unit, start: DateTime<Utc>) -> Option<DateTime<Utc>> {
    match unit {
        Unit::Hour => start.checked_add_signed(TimeDelta::hours(1)),
        Unit::Day => start.checked_add_days(Days::new(1)),
        Unit::Week => start.checked_add_days(Days::new(7)),
        Unit::Month => start.checked_add_months(Months::new(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text).expect("a time").timestamp_millis()
    }

    fn row(period_ms: i64, events: u64) -> PeriodRow {
        PeriodRow {
            period_ms,
            events,
            lacking: 0,
            sum_units: 300_000,
            sum_rest: 0.0,
            sum_count: 0,
            avg_units: 0,
            avg_rest: 0.0,
            avg_count: 0,
            least: None,
            most: Some(100.0),
        }
    }

    fn asked(group_by: Unit, ends: (Option<i64>, Option<i64>)) -> Aggregate {
        Aggregate {
            event_name: "x".to_owned(),
            start_ms: ends.0,
            end_ms: ends.1,
            group_by,
            metrics: vec![Metric::Sum],
            sum_field: Some("total".to_owned()),
            avg_field: None,
            min_field: None,
            max_field: None,
            property_filters: Vec::new(),
            fill_gaps: true,
        }
    }

    #[test]
    fn periods_start_where_the_calendar_has_them() {
        // 2024-02-29 was a Thursday; 2023-01-01 a Sunday, whose week began in 2022.
        let cases = [
            (Unit::Hour, "2024-02-29T12:34:56.789Z", "2024-02-29T12:00:00Z"),
            (Unit::Day, "2024-02-29T12:34:56.789Z", "2024-02-29T00:00:00Z"),
            (Unit::Week, "2024-02-29T12:34:56.789Z", "2024-02-26T00:00:00Z"),
            (Unit::Month, "2024-02-29T12:34:56.789Z", "2024-02-01T00:00:00Z"),
            (Unit::Week, "2023-01-01T23:59:59.999Z", "2022-12-26T00:00:00Z"),
            (Unit::Week, "2024-02-26T00:00:00Z", "2024-02-26T00:00:00Z"),
        ];
        for (unit, at, start) in cases {
            let found = period_start(unit, ms(at)).map(|at| at.timestamp_millis());
            assert_eq!(found, Some(ms(start)), "{unit:?} {at}");
        }
    }

    #[test]
    fn figures_that_were_not_asked_for_are_absent() {
        let found =
            answer(&[row(0, 2), row(1, 3)], &BTreeSet::from([Metric::Sum])).expect("an answer");
        assert_eq!(found.total, 5);
        assert_eq!(found.rows[0].sum.as_ref().map(Figure::as_str), Some("0.3"));
        assert_eq!(found.rows[0].avg, None);
        assert_eq!(found.rows[0].max.as_ref().map(Figure::as_str), Some("100"));
    }

    #[test]
    fn gaps_are_filled_between_the_ends() {
        let january = row(ms("2024-01-01T00:00:00Z"), 1);
        let april = row(ms("2024-04-01T00:00:00Z"), 1);
        let mut found = answer(&[january, april], &BTreeSet::new()).expect("an answer");
        fill_gaps(&mut found, &asked(Unit::Month, (None, None))).expect("few periods");
        let counts: Vec<u64> = found.rows.iter().map(|bucket| bucket.count).collect();
        assert_eq!(counts, [1, 0, 0, 1]);
        assert_eq!(found.rows[1].sum.as_ref().map(Figure::as_str), Some("0"));
    }

    #[test]
    fn given_ends_are_filled_even_without_events() {
        let mut found = AggregateAnswer::default();
        let ends = (Some(ms("2024-02-27T05:00:00Z")), Some(ms("2024-03-01T00:00:00Z")));
        fill_gaps(&mut found, &asked(Unit::Day, ends)).expect("few periods");
        assert_eq!(found.rows.len(), 4);
        assert_eq!(found.rows[0].period_ms, ms("2024-02-27T00:00:00Z"));
    }

    #[test]
    fn filling_never_answers_without_bound() {
        let mut found = AggregateAnswer::default();
        let ends = (Some(0), Some(ms("2024-01-01T00:00:00Z")));
        assert!(fill_gaps(&mut found, &asked(Unit::Hour, ends)).is_err());
    }
}
