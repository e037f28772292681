//! Figures of one series over intervals, by the value of a breakdown.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Breakdown, EventChoice, Span,
    parameters::{Parameters, Value},
    person::Links,
    property::{Place, readings},
    rows::RowsAsked,
};
use crate::{
    Analytics, client,
    error::AnalyticsError,
    events::{Figure, NUMBER_IN_TEXT, SUM_OF_FIELD},
};

const TREND: &str = include_str!("../sql/insight_trend.sql");
const TOP: &str = include_str!("../sql/insight_top.sql");

/// What is computed of the events of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// How many there are.
    Count,
    /// How many people they are of.
    Unique,
    /// Events per person.
    PerUser,
    /// The sum of a numeric property.
    Sum,
    /// Its mean.
    Avg,
    /// Its least value.
    Min,
    /// Its greatest value.
    Max,
    /// Its quantile at so many hundredths, between the two nearest values where it lies between them.
    Percentile(u8),
}

impl Metric {
    /// Whether it is computed of a numeric property.
    pub const fn has_field(self) -> bool {
        !matches!(self, Self::Count | Self::Unique | Self::PerUser)
    }

    const fn is_of_people(self) -> bool {
        matches!(self, Self::Unique | Self::PerUser)
    }

    /// The figure by which values of a breakdown are compared.
    fn total_sql(self) -> String {
        match self {
            Self::Count => "count()".to_owned(),
            Self::Unique => "uniqExact(person)".to_owned(),
            Self::PerUser => "count() / uniqExact(person)".to_owned(),
            Self::Sum => "sumKahanIf(number, number_found)".to_owned(),
            Self::Avg => "avgIfOrNull(number, number_found)".to_owned(),
            Self::Min => "minIfOrNull(number, number_found)".to_owned(),
            Self::Max => "maxIfOrNull(number, number_found)".to_owned(),
            Self::Percentile(_) => self.number_sql(),
        }
    }

    /// The one number of the row, besides counts and sums.
    fn number_sql(self) -> String {
        match self {
            Self::Min => "minIfOrNull(number, number_found)".to_owned(),
            Self::Max => "maxIfOrNull(number, number_found)".to_owned(),
            Self::Percentile(hundredths) => {
                let level = f64::from(hundredths) / 100.0;
                format!("quantileExactInclusiveIfOrNull({level})(number, number_found)")
            }
            _ => "CAST(NULL, 'Nullable(Float64)')".to_owned(),
        }
    }

    fn sums_sql(self) -> String {
        if matches!(self, Self::Sum | Self::Avg) {
            // The value of a row without a number is 0.
            return SUM_OF_FIELD.replace("$value$", "number").replace("$metric$", "sum");
        }
        "toInt128(0) AS sum_units, toFloat64(0) AS sum_rest, toUInt64(0) AS sum_count".to_owned()
    }
}

/// A question about one series.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendAsked {
    /// The events that count.
    pub choice: EventChoice,
    /// What is computed of them.
    pub metric: Metric,
    /// The path of the numeric property; of metrics that have one.
    pub field: Option<String>,
    /// The range of events.
    pub span: Span,
    /// Another range before it, for comparison.
    pub compared: Option<Span>,
    /// Starts of the intervals, ascending; those of the other range first. The first of each may lie before its range.
    pub starts_ms: Vec<i64>,
    /// What the figures are broken down by.
    pub breakdown: Option<Breakdown>,
    /// Most values of the breakdown; those with the largest totals, where there are more.
    pub values_max: u32,
    /// The people it is limited to, stored before.
    pub members: Option<Uuid>,
}

/// The value of a breakdown that figures are of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrendValue {
    /// This value.
    Value(String),
    /// No value; also where there is no breakdown.
    Absent,
    /// Any value that is not among the largest.
    Other,
}

/// Figures of one interval, or of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendRow {
    /// The start of the interval; none where the figures are of the whole range.
    pub start_ms: Option<i64>,
    /// Whether it is of the range for comparison.
    pub is_compared: bool,
    /// The value of the breakdown.
    pub value: TrendValue,
    /// Its figure; none where it is of no number.
    pub figure: Option<Figure>,
}

/// A row of `insight_trend.sql`.
#[derive(Debug, Row, Deserialize)]
struct FoundRow {
    is_total: u8,
    is_compared: u8,
    interval_ms: i64,
    kind: u8,
    value: String,
    events: u64,
    needs_links: u8,
    people: u64,
    number_of_all: Option<f64>,
    sum_units: i128,
    sum_rest: f64,
    sum_count: u64,
}

/// Computes the figures of a series: a row for each interval and value with events, and a row for each range and value
/// over all its intervals.
///
/// # Errors
/// [`AnalyticsError::Question`] when a sum is beyond what can be reported; others when ClickHouse is away or the question
/// asks too much.
pub async fn trend(
    analytics: &Analytics,
    workspace: Uuid,
    asked: &TrendAsked,
) -> Result<Vec<TrendRow>, AnalyticsError> {
    let statement = Statement::new(asked);
    let mut links = statement.rows.links(analytics, workspace).await?;
    loop {
        let mut parameters = Parameters::default();
        let sql = statement.sql(links, &mut parameters);
        let query = statement.rows.bind(workspace, client::read(analytics, &sql));
        let found: Vec<FoundRow> = parameters.bind(query).fetch_all().await?;
        if found.iter().all(|row| row.needs_links == 0) {
            return found.into_iter().map(|row| statement.row(row)).collect();
        }
        links = Links::Joined;
    }
}

struct Statement<'a> {
    asked: &'a TrendAsked,
    rows: RowsAsked<'a>,
}

impl<'a> Statement<'a> {
    fn new(asked: &'a TrendAsked) -> Self {
        let span = match asked.compared {
            Some(compared) => Span { start_ms: compared.start_ms, end_ms: asked.span.end_ms },
            None => asked.span,
        };
        let rows = RowsAsked {
            span,
            choices: vec![&asked.choice],
            has_people: asked.metric.is_of_people(),
            breakdown: asked.breakdown.as_ref(),
            members: asked.members,
            event_columns: Vec::new(),
            columns: ["interval_ms", "is_compared", "number", "number_found"]
                .map(str::to_owned)
                .into(),
            condition: String::new(),
        };
        Self { asked, rows }
    }

    fn sql(&self, links: Links, parameters: &mut Parameters) -> String {
        let asked = self.asked;
        let start = parameters.add(Value::Integer(asked.span.start_ms));
        let number = self.number(parameters);
        let interval = interval(&asked.starts_ms, parameters);
        let mut rows = self.rows.clone();
        rows.event_columns = vec![
            format!("{interval} AS interval_ms"),
            format!("toUInt8(at_ms < {start}) AS is_compared"),
            format!("{number} AS number_or_null"),
            "ifNull(number_or_null, 0) AS number".to_owned(),
            "isNotNull(number_or_null) AS number_found".to_owned(),
        ];
        let gap = asked.compared.map(|compared| {
            let end = parameters.add(Value::Integer(compared.end_ms));
            format!(" AND (at_ms <= {end} OR at_ms >= {start})")
        });
        rows.condition = asked.choice.sql(parameters) + gap.as_deref().unwrap_or_default();
        let kind = match asked.breakdown {
            None => "toUInt8(1)".to_owned(),
            Some(_) => {
                let top = TOP
                    .replace("$total$", &asked.metric.total_sql())
                    .replace("$limit$", &asked.values_max.to_string());
                format!("toUInt8(multiIf(isNull(label), 1, label IN (\n{top}), 0, 2))")
            }
        };
        let people = if asked.metric.is_of_people() { "uniqExact(person)" } else { "toUInt64(0)" };
        let figures = format!(
            "{people} AS people,\n    {} AS number_of_all,\n    {}",
            asked.metric.number_sql(),
            asked.metric.sums_sql()
        );
        TREND
            .replace("$rows$", &rows.sql(links, parameters))
            .replace("$kind$", &kind)
            .replace("$figures$", &figures)
    }

    /// The number of an event, NULL where it has none. A text that spells a number is one, as for `/events/aggregate`.
    fn number(&self, parameters: &mut Parameters) -> String {
        let Some(field) = &self.asked.field else {
            return "CAST(NULL, 'Nullable(Float64)')".to_owned();
        };
        let path = parameters.text(field);
        let texts: Vec<String> = readings(field)
            .iter()
            .map(|keys| {
                let text = Place::property(keys, parameters).text();
                NUMBER_IN_TEXT.replace("$text$", &text)
            })
            .collect();
        let text = format!("coalesce({})", texts.join(", "));
        format!("if(mapContains(numbers, {path}), toNullable(numbers[{path}]), {text})")
    }

    fn row(&self, found: FoundRow) -> Result<TrendRow, AnalyticsError> {
        let figure = self.figure(&found)?;
        let value = match found.kind {
            0 => TrendValue::Value(found.value),
            1 => TrendValue::Absent,
            _ => TrendValue::Other,
        };
        Ok(TrendRow {
            start_ms: (found.is_total == 0).then_some(found.interval_ms),
            is_compared: found.is_compared == 1,
            value,
            figure,
        })
    }

    fn figure(&self, found: &FoundRow) -> Result<Option<Figure>, AnalyticsError> {
        let overflow =
            || AnalyticsError::Question("the numbers add up to more than can be reported");
        Ok(match self.asked.metric {
            Metric::Count => Some(Figure::from_count(found.events)),
            Metric::Unique => Some(Figure::from_count(found.people)),
            Metric::PerUser => Figure::ratio(found.events, found.people),
            Metric::Sum => {
                Some(Figure::from_sum(found.sum_units, found.sum_rest).ok_or_else(overflow)?)
            }
            Metric::Avg if found.sum_count == 0 => None,
            Metric::Avg => Some(
                Figure::from_mean(found.sum_units, found.sum_rest, found.sum_count)
                    .ok_or_else(overflow)?,
            ),
            Metric::Min | Metric::Max | Metric::Percentile(_) => {
                found.number_of_all.and_then(Figure::from_f64)
            }
        })
    }
}

/// The start of the interval that an event lies in. Intervals of one length are computed, others looked up.
fn interval(starts_ms: &[i64], parameters: &mut Parameters) -> String {
    match starts_ms {
        [] => "toInt64(0)".to_owned(),
        [only] => format!("toInt64({})", parameters.add(Value::Integer(*only))),
        [first, second, ..] => {
            let length = second - first;
            let is_even = starts_ms.windows(2).all(|pair| pair[1] - pair[0] == length);
            if is_even {
                let first = parameters.add(Value::Integer(*first));
                let length = parameters.add(Value::Integer(length));
                return format!("toInt64({first} + intDiv(at_ms - {first}, {length}) * {length})");
            }
            let starts = parameters.add(Value::Integers(starts_ms.to_vec()));
            format!("toInt64(roundDown(at_ms, {starts}))")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled() {
        for metric in [Metric::Count, Metric::PerUser, Metric::Avg, Metric::Percentile(95)] {
            let asked = TrendAsked {
                choice: EventChoice::default(),
                metric,
                field: metric.has_field().then(|| "a.b".to_owned()),
                span: Span { start_ms: 10, end_ms: 20 },
                compared: Some(Span { start_ms: 0, end_ms: 9 }),
                starts_ms: vec![0, 4, 10],
                breakdown: Some(Breakdown {
                    source: super::super::BreakdownSource::Profile,
                    path: "plan".to_owned(),
                }),
                values_max: 3,
                members: Some(Uuid::nil()),
            };
            for links in [Links::Unneeded, Links::Joined] {
                let sql = Statement::new(&asked).sql(links, &mut Parameters::default());
                let code: String = sql.lines().filter(|line| !line.starts_with("--")).collect();
                assert!(!code.contains('$'), "{code}");
            }
        }
    }

    #[test]
    fn intervals_of_one_length_are_computed() {
        let of = |starts: &[i64]| interval(starts, &mut Parameters::default());
        assert!(of(&[0, 5, 10]).contains("intDiv"));
        assert!(of(&[0, 5, 11]).contains("roundDown"));
        assert_eq!(of(&[7]), "toInt64({p0:Int64})");
    }
}
