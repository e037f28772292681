//! The statement of an aggregate: fixed fragments by closed enums, values as parameters.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::{Aggregate, Metric, Unit};
use crate::{Analytics, client, error::AnalyticsError, events::filter::Range, reads::Read};

const AGGREGATE: &str = include_str!("../../sql/aggregate.sql");
pub(crate) const FIRST_OF_ORDERS: &str = include_str!("../../sql/first_of_orders.sql");
pub(crate) const NUMBER_IN_TEXT: &str = include_str!("../../sql/number_in_text.sql");
pub(crate) const SUM_OF_FIELD: &str = include_str!("../../sql/sum_of_field.sql");

/// The event that is counted once per order.
pub(crate) const ORDER_COMPLETED: &str = "Order Completed";

/// Where numbers are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The `numbers` column: JSON numbers.
    Numbers,
    /// Also strings in `properties` that spell a number.
    NumbersAndTexts,
}

/// One period as ClickHouse answers it; the columns of `aggregate.sql`. What was not asked is 0 or NULL.
#[derive(Debug, Clone, PartialEq, Row, Deserialize)]
pub(super) struct PeriodRow {
    pub(super) period_ms: i64,
    pub(super) events: u64,
    pub(super) lacking: u64,
    pub(super) sum_units: i128,
    pub(super) sum_rest: f64,
    pub(super) sum_count: u64,
    pub(super) avg_units: i128,
    pub(super) avg_rest: f64,
    pub(super) avg_count: u64,
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
}

/// An aggregate that can be asked.
#[derive(Debug)]
pub(super) struct Question<'a> {
    workspace: Uuid,
    asked: &'a Aggregate,
    range: Range,
    /// The metrics besides the count, each with its field.
    fields: Vec<(Metric, &'a str)>,
}

impl<'a> Question<'a> {
    pub(super) fn new(
        workspace: Uuid,
        asked: &'a Aggregate,
        range: Range,
    ) -> Result<Self, AnalyticsError> {
        let fields = asked.figures().into_iter().map(|metric| {
            let field = asked.field(metric).filter(|field| !field.is_empty());
            let missing = || AnalyticsError::Question("a metric has no field");
            Ok((metric, field.ok_or_else(missing)?))
        });
        Ok(Self { workspace, asked, range, fields: fields.collect::<Result<_, AnalyticsError>>()? })
    }

    pub(super) async fn ask(
        &self,
        analytics: &Analytics,
        source: Source,
    ) -> Result<Vec<PeriodRow>, AnalyticsError> {
        let query = client::read(analytics, &self.sql(source));
        self.bind(query).fetch_all().await
    }

    fn sql(&self, source: Source) -> String {
        let period = match self.asked.group_by {
            Unit::Hour => "toStartOfHour(timestamp)",
            Unit::Day => "toStartOfDay(timestamp)",
            Unit::Week => "toStartOfWeek(timestamp, 1)",
            Unit::Month => "toStartOfMonth(timestamp)",
        };
        AGGREGATE
            .replace("$figures$", &self.figures())
            .replace("$period$", period)
            .replace("$values$", &self.values(source))
            .replace("$and$", &self.conditions())
    }

    /// What is computed per period, always the columns of [`PeriodRow`].
    fn figures(&self) -> String {
        let is_asked = |metric| self.fields.iter().any(|(asked, _)| *asked == metric);
        let lacks = self.fields.iter().map(|(metric, _)| format!("NOT {}_found", value(*metric)));
        let lacks = lacks.collect::<Vec<_>>().join(" OR ");
        let mut figures = vec![if lacks.is_empty() {
            "toUInt64(0) AS lacking".to_owned()
        } else {
            format!("countIf({lacks}) AS lacking")
        }];
        for (metric, name) in [(Metric::Sum, "sum"), (Metric::Avg, "avg")] {
            figures.push(if is_asked(metric) {
                SUM_OF_FIELD.replace("$value$", value(metric)).replace("$metric$", name)
            } else {
                format!(
                    "toInt128(0) AS {name}_units, toFloat64(0) AS {name}_rest, \
                     toUInt64(0) AS {name}_count"
                )
            });
        }
        for (metric, function, name) in
            [(Metric::Min, "min", "least"), (Metric::Max, "max", "most")]
        {
            let value = value(metric);
            figures.push(if is_asked(metric) {
                format!("{function}IfOrNull({value}, {value}_found) AS {name}")
            } else {
                format!("CAST(NULL, 'Nullable(Float64)') AS {name}")
            });
        }
        figures.join(",\n")
    }

    /// The numbers of a row: per metric a value, and whether the row has one.
    fn values(&self, source: Source) -> String {
        let mut values = Vec::new();
        for (metric, field) in &self.fields {
            let (name, value) = (parameter(*metric), value(*metric));
            let found = format!("mapContains(numbers, {{{name}:String}})");
            let number = format!("numbers[{{{name}:String}}]");
            values.push(match source {
                Source::Numbers => format!("{number} AS {value}, {found} AS {value}_found"),
                Source::NumbersAndTexts => {
                    let text = NUMBER_IN_TEXT.replace("$text$", &text_of(name, field));
                    format!(
                        "{text} AS {value}_text, \
                         if({found}, {number}, ifNull({value}_text, 0)) AS {value}, \
                         {found} OR isNotNull({value}_text) AS {value}_found"
                    )
                }
            });
        }
        if values.is_empty() {
            values.push("timestamp".to_owned());
        }
        values.join(",\n")
    }

    fn conditions(&self) -> String {
        let mut conditions = Vec::new();
        if self.asked.event_name == ORDER_COMPLETED {
            conditions.push(format!("AND {FIRST_OF_ORDERS}"));
        }
        for (number, filter) in self.asked.property_filters.iter().enumerate() {
            conditions.push(format!("AND {}", filter.condition(number)));
        }
        conditions.join("\n")
    }

    fn bind(&self, query: Read) -> Read {
        let mut query = query
            .param("workspace", self.workspace.to_string())
            .param("event_name", &self.asked.event_name)
            .param("start_ms", self.range.start_ms)
            .param("end_ms", self.range.end_ms);
        for (metric, field) in &self.fields {
            let name = parameter(*metric);
            query = query.param(name, field);
            for (place, key) in field.split('.').enumerate() {
                query = query.param(&format!("{name}_{place}"), key);
            }
        }
        for (number, filter) in self.asked.property_filters.iter().enumerate() {
            query = filter.bind(number, query);
        }
        query
    }
}

/// The parameter that holds the field of a metric.
fn parameter(metric: Metric) -> &'static str {
    match metric {
        Metric::Count => "count_field",
        Metric::Sum => "sum_field",
        Metric::Avg => "avg_field",
        Metric::Min => "min_field",
        Metric::Max => "max_field",
    }
}

/// The column that holds the number of a metric.
fn value(metric: Metric) -> &'static str {
    match metric {
        Metric::Count => "count_value",
        Metric::Sum => "sum_value",
        Metric::Avg => "avg_value",
        Metric::Min => "min_value",
        Metric::Max => "max_value",
    }
}

/// The text of a string property, read as one key and, where it has dots, as keys within keys.
fn text_of(name: &str, field: &str) -> String {
    let literal = format!("JSONExtractString(properties, {{{name}:String}})");
    if !field.contains('.') {
        return literal;
    }
    let keys = (0..field.split('.').count()).map(|place| format!("{{{name}_{place}:String}}"));
    let keys = keys.collect::<Vec<_>>().join(", ");
    format!(
        "if(JSONHas(properties, {{{name}:String}}), {literal}, \
         JSONExtractString(properties, {keys}))"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(event_name: &str) -> Aggregate {
        Aggregate {
            event_name: event_name.to_owned(),
            start_ms: None,
            end_ms: None,
            group_by: Unit::Week,
            metrics: vec![Metric::Sum, Metric::Sum, Metric::Max],
            sum_field: Some("NASTY') OR 1=1 --".to_owned()),
            avg_field: None,
            min_field: None,
            max_field: Some("NASTY.b".to_owned()),
            property_filters: Vec::new(),
            fill_gaps: false,
        }
    }

    fn sql(asked: &Aggregate, source: Source) -> String {
        let range = Range::new(None, None).expect("an open range");
        Question::new(Uuid::nil(), asked, range).expect("a question").sql(source)
    }

    #[test]
    fn every_placeholder_is_filled_and_caller_input_is_only_bound() {
        for name in ["NASTY", ORDER_COMPLETED] {
            for source in [Source::Numbers, Source::NumbersAndTexts] {
                let sql = sql(&asked(name), source);
                let code: String = sql.lines().filter(|line| !line.starts_with("--")).collect();
                for hole in ["$period", "$values", "$value", "$figures", "$metric", "$and", "$text"]
                {
                    assert!(!code.contains(hole), "{hole}: {code}");
                }
                assert!(!code.contains("NASTY"), "{code}");
            }
        }
    }

    #[test]
    fn only_orders_are_joined_with_the_first_of_each() {
        assert!(!sql(&asked("Order Cancelled"), Source::Numbers).contains("FROM orders"));
        assert!(sql(&asked(ORDER_COMPLETED), Source::Numbers).contains("FROM orders"));
    }

    #[test]
    fn a_metric_without_a_field_is_no_question() {
        let range = Range::new(None, None).expect("an open range");
        let mut asked = asked("x");
        asked.sum_field = None;
        asked.max_field = None;
        assert!(Question::new(Uuid::nil(), &asked, range).is_err());
        asked.metrics = vec![Metric::Count];
        assert!(Question::new(Uuid::nil(), &asked, range).is_ok());
    }

    #[test]
    fn fields_fall_back_as_documented() {
        let mut asked = asked("x");
        (asked.sum_field, asked.max_field) = (None, None);
        asked.avg_field = Some("a".to_owned());
        for metric in [Metric::Sum, Metric::Avg, Metric::Min, Metric::Max] {
            assert_eq!(asked.field(metric), Some("a"), "{metric:?}");
        }
        asked.sum_field = Some("s".to_owned());
        asked.max_field = Some("m".to_owned());
        let fields = [Metric::Sum, Metric::Avg, Metric::Min, Metric::Max].map(|m| asked.field(m));
        assert_eq!(fields, [Some("s"), Some("a"), Some("s"), Some("m")]);
    }
}
