//! Counts and sums of the events of one name, per hour, day, week or month.
//!
//! The question is asked of the `numbers` column first, which holds every numeric property. Only
//! when some matching event lacks a field there may a string that spells a number stand in its
//! `properties`; then the question is asked again with those texts read.

mod bucket;
mod question;

use std::collections::BTreeSet;

pub use bucket::{AggregateAnswer, Bucket, FILLED_BUCKETS_MAX};
use uuid::Uuid;

use super::{PropertyFilter, filter::Range};
use crate::{Analytics, error::AnalyticsError};
pub(crate) use question::{FIRST_OF_ORDERS, NUMBER_IN_TEXT, ORDER_COMPLETED, SUM_OF_FIELD};
use question::{Question, Source};

/// How long a period is. Periods are in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// From the full hour.
    Hour,
    /// From midnight in the zone asked for.
    Day,
    /// From Monday's midnight (ISO 8601).
    Week,
    /// From the first of the month.
    Month,
}

/// What is asked per period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// How many events; always answered.
    Count,
    /// The sum of a property.
    Sum,
    /// The mean of a property.
    Avg,
    /// The smallest value of a property.
    Min,
    /// The largest value of a property.
    Max,
}

/// A question about one event name.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The events' name. `Order Completed` is counted once per order.
    pub event_name: String,
    /// Inclusive start, in milliseconds since 1970, UTC.
    pub start_ms: Option<i64>,
    /// Inclusive end, in milliseconds since 1970, UTC.
    pub end_ms: Option<i64>,
    /// The length of a period.
    pub group_by: Unit,
    /// What is asked; [`Metric::Count`] is answered in any case.
    pub metrics: Vec<Metric>,
    /// The property to sum, as a dot path; falls back to `avg_field`.
    pub sum_field: Option<String>,
    /// The property to average; falls back to `sum_field`.
    pub avg_field: Option<String>,
    /// The property whose least value is asked; falls back to `sum_field`, then `avg_field`.
    pub min_field: Option<String>,
    /// The property whose greatest value is asked; falls back to `sum_field`, then `avg_field`.
    pub max_field: Option<String>,
    /// All of them must hold.
    pub property_filters: Vec<PropertyFilter>,
    /// Answers periods without events too, between the ends of the range where they are given,
    /// else between the first and the last period with events.
    pub fill_gaps: bool,
}

impl Aggregate {
    /// The field a metric is about: its own, or the one it falls back to.
    pub fn field(&self, metric: Metric) -> Option<&str> {
        let (own, other) = match metric {
            Metric::Count => return None,
            Metric::Sum => (&self.sum_field, &self.avg_field),
            Metric::Avg => (&self.avg_field, &self.sum_field),
            Metric::Min => (&self.min_field, &None),
            Metric::Max => (&self.max_field, &None),
        };
        own.as_deref()
            .or(other.as_deref())
            .or(self.sum_field.as_deref())
            .or(self.avg_field.as_deref())
    }

    /// The metrics besides the count, each once.
    fn figures(&self) -> BTreeSet<Metric> {
        self.metrics.iter().copied().filter(|metric| *metric != Metric::Count).collect()
    }
}

/// Counts and sums, periods ascending.
///
/// # Errors
/// [`AnalyticsError::Question`] when a metric has no field, or when filling gaps would answer more
/// than [`FILLED_BUCKETS_MAX`] periods.
pub async fn aggregate(
    analytics: &Analytics,
    workspace: Uuid,
    asked: &Aggregate,
) -> Result<AggregateAnswer, AnalyticsError> {
    let Some(range) = Range::new(asked.start_ms, asked.end_ms) else {
        return Ok(AggregateAnswer::default());
    };
    let question = Question::new(workspace, asked, range)?;
    let mut rows = question.ask(analytics, Source::Numbers).await?;
    if rows.iter().any(|row| row.lacking > 0) {
        rows = question.ask(analytics, Source::NumbersAndTexts).await?;
    }
    let mut answer = bucket::answer(&rows, &asked.figures())?;
    if asked.fill_gaps {
        bucket::fill_gaps(&mut answer, asked)?;
    }
    Ok(answer)
}
