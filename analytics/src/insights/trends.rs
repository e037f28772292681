//! Figures of one series over intervals, by the value of a breakdown.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Breakdown, EventChoice, Metric, Span,
    breakdown::LABEL,
    parameters::{Parameters, Value},
    person::{Links, NEVER},
    property::{JsonLocation, readings},
    rows::{RowsAsked, true_of_any},
    unique,
};
use crate::{
    Analytics, client,
    error::AnalyticsError,
    events::{Figure, NUMBER_IN_TEXT},
};

const TREND: &str = include_str!("../sql/insight_trend.sql");
const PARTS: &str = include_str!("../sql/insight_parts.sql");
const RANKED: &str = include_str!("../sql/insight_ranked.sql");

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
    /// Events with this value.
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
    needs_texts: u8,
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
    let mut texts = Texts::Ignored;
    loop {
        let mut parameters = Parameters::default();
        let sql = statement.sql(links, texts, &mut parameters);
        let query = statement.rows.bind(workspace, client::read(analytics, &sql));
        let found: Vec<FoundRow> = parameters.bind(query).fetch_all().await?;
        let needs_links = found.iter().any(|row| row.needs_links > 0);
        let needs_texts = found.iter().any(|row| row.needs_texts > 0);
        if !needs_links && !needs_texts {
            return found.into_iter().map(|row| statement.row(row)).collect();
        }
        if needs_links {
            links = statement.rows.further_links(analytics, workspace, links).await?;
        }
        if needs_texts {
            texts = Texts::Read;
        }
    }
}

/// Whether texts that spell numbers are looked for. They stand in the properties, which take six times as long to read as
/// the numbers; so they are read where an event turned out to have no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Texts {
    Ignored,
    Read,
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
            columns: vec!["interval_ms".to_owned()],
            condition: String::new(),
        };
        Self { asked, rows }
    }

    fn sql(&self, links: Links, texts: Texts, parameters: &mut Parameters) -> String {
        let asked = self.asked;
        let start = parameters.add(Value::Integer(asked.span.start_ms));
        let mut rows = self.rows.clone();
        rows.event_columns =
            vec![format!("{} AS interval_ms", interval(&asked.starts_ms, parameters))];
        if asked.compared.is_some() {
            rows.event_columns.push(format!("toUInt8(at_ms < {start}) AS is_compared"));
            rows.columns.push("is_compared".to_owned());
        }
        if let Some(field) = &asked.field {
            rows.event_columns.extend(number(field, texts, parameters));
            rows.columns.extend(["number", "number_found"].map(str::to_owned));
        }
        let gap = asked.compared.map(|compared| {
            let end = parameters.add(Value::Integer(compared.end_ms));
            format!(" AND (at_ms <= {end} OR at_ms >= {start})")
        });
        // The name is in the condition of all rows already.
        rows.condition = asked.choice.tests_sql(parameters) + gap.as_deref().unwrap_or_default();
        let rows = rows.sql(links, parameters);
        if self.fits_bits() {
            let needs_links = self.rows.any_needs_links(links);
            return unique::sql(&asked.starts_ms, asked.compared, &needs_links, &rows, parameters);
        }
        let may_need_texts = asked.field.is_some() && texts == Texts::Ignored;
        let label = asked.breakdown.as_ref().map(|_| format!("{LABEL} AS label,"));
        let (is_compared, compared_key) = match asked.compared {
            Some(_) => ("is_compared", Some("is_compared")),
            None => ("toUInt8(0) AS is_compared", None),
        };
        let raw_key = asked.breakdown.as_ref().map(|_| "raw");
        let keys = [raw_key, compared_key, Some("interval_ms")].into_iter().flatten();
        let parts = PARTS
            .replace("$is_compared$", is_compared)
            .replace("$label$", &label.unwrap_or_default())
            .replace("$keys$", &keys.collect::<Vec<_>>().join(", "))
            .replace("$needs_links$", &self.rows.any_needs_links(links))
            .replace(
                "$needs_texts$",
                &true_of_any(if may_need_texts { "NOT number_found" } else { NEVER }),
            )
            .replace("$figures$", &asked.metric.part_sql())
            .replace("$rows$", &rows);
        self.of_labels(&parts, parameters)
    }

    /// Whether the intervals of a person fit into one number, and nothing else is asked of people.
    fn fits_bits(&self) -> bool {
        let asked = self.asked;
        asked.metric == Metric::Unique
            && asked.breakdown.is_none()
            && asked.starts_ms.len() <= unique::INTERVALS_MAX
    }

    /// The statement of the answer, of parts by label.
    fn of_labels(&self, parts: &str, parameters: &mut Parameters) -> String {
        let metric = self.asked.metric;
        let trend = TREND.replace("$figures$", &metric.figures_sql());
        if self.asked.breakdown.is_none() {
            return trend
                .replace("$kind$", "toUInt8(1)")
                .replace("$value$", "''")
                .replace("$parts$", parts);
        }
        let most = parameters.add(Value::Integer(self.asked.values_max.into()));
        let kind =
            format!("toUInt8(multiIf(isNull(label), 1, is_in_range AND place <= {most}, 0, 2))");
        let ranked = RANKED.replace("$total$", &metric.total_sql()).replace("$parts$", parts);
        trend
            .replace("$kind$", &kind)
            .replace("$value$", "if(kind = 0, ifNull(label, ''), '')")
            .replace("$parts$", &ranked)
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

/// The number of an event, 0 where it has none, and whether it has one. A text that spells a number is one, as for
/// `/events/aggregate`.
fn number(field: &str, texts: Texts, parameters: &mut Parameters) -> Vec<String> {
    let path = parameters.text(field);
    if texts == Texts::Ignored {
        return vec![
            format!("numbers[{path}] AS number"),
            format!("(number != 0 OR mapContains(numbers, {path})) AS number_found"),
        ];
    }
    let texts: Vec<String> = readings(field)
        .iter()
        .map(|keys| {
            let text = JsonLocation::property(keys, parameters).text();
            NUMBER_IN_TEXT.replace("$text$", &text)
        })
        .collect();
    let text = format!("coalesce({})", texts.join(", "));
    vec![
        format!(
            "if(mapContains(numbers, {path}), toNullable(numbers[{path}]), {text}) AS number_or_null"
        ),
        "ifNull(number_or_null, 0) AS number".to_owned(),
        "isNotNull(number_or_null) AS number_found".to_owned(),
    ]
}

/// The start of the interval that an event lies in. Starts at one distance are computed, others looked up.
fn interval(starts_ms: &[i64], parameters: &mut Parameters) -> String {
    match starts_ms {
        [] => "toInt64(0)".to_owned(),
        [only] => format!("toInt64({})", parameters.add(Value::Integer(*only))),
        [first, second, ..] => {
            let length = second - first;
            let is_even = starts_ms.windows(2).all(|pair| pair[1] - pair[0] == length);
            if is_even {
                // The last one may be longer: a month, or the day on which clocks go back.
                let last = parameters.add(Value::Integer(starts_ms[starts_ms.len() - 1]));
                let first = parameters.add(Value::Integer(*first));
                let length = parameters.add(Value::Integer(length));
                return format!(
                    "least(toInt64({first} + intDiv(at_ms - {first}, {length}) * {length}), {last})"
                );
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
            for (links, texts) in [
                (Links::Unneeded, Texts::Ignored),
                (Links::WithoutServiceIds, Texts::Ignored),
                (Links::Joined, Texts::Read),
            ] {
                let sql = Statement::new(&asked).sql(links, texts, &mut Parameters::default());
                let is_placeholder = |part: &str| {
                    !part.is_empty() && part.chars().all(|it| it.is_ascii_lowercase() || it == '_')
                };
                assert!(!sql.split('$').skip(1).any(is_placeholder), "{sql}");
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
