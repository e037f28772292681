//! Trends: figures of up to ten series over intervals.

use std::collections::BTreeMap;

use analytics::{
    events::Figure,
    insights::{Metric, TrendAsked, TrendRow, TrendValue},
};
use kernel::{
    Timestamp,
    fields::{Fields, FromFields, Words, describe::described},
};
use uuid::Uuid;

use super::{
    TEXT_CHARS_MAX,
    breakdown::BreakdownBy,
    choice::{Choice, refuse_many_filters},
    people::{People, needs_profiles},
    period::{Interval, Period},
};

/// Series of a question.
const SERIES_MAX: usize = 10;
/// Values in an answer: intervals, times series, times values of the breakdown.
const VALUES_IN_ALL_MAX: usize = 500_000;

/// The words for metrics.
pub const METRICS: &Words<Metric> = &[
    ("count", Metric::Count),
    ("unique", Metric::Unique),
    ("perUser", Metric::PerUser),
    ("sum", Metric::Sum),
    ("avg", Metric::Avg),
    ("min", Metric::Min),
    ("max", Metric::Max),
    ("p50", Metric::Percentile(50)),
    ("p90", Metric::Percentile(90)),
    ("p95", Metric::Percentile(95)),
    ("p99", Metric::Percentile(99)),
];

/// The words for the lengths of intervals; none is one interval for all.
const TREND_INTERVALS: &Words<Option<Interval>> = &[
    ("day", Some(Interval::Day)),
    ("hour", Some(Interval::Hour)),
    ("week", Some(Interval::Week)),
    ("month", Some(Interval::Month)),
    ("none", None),
];

const COMPARISONS: &Words<()> = &[("previous_period", ())];

/// One series of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The events that count.
    pub choice: Choice,
    /// What is computed of them.
    pub metric: Metric,
    field: Option<String>,
}

impl FromFields for Series {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let choice = Choice::any(body);
        let metric = body
            .optional("metric")
            .about(
                "`count` (default), `unique` people, `perUser` (events per person), or of the numeric property `field`: \
                 `sum`, `avg`, `min`, `max`, `p50`, `p90`, `p95`, `p99`.",
            )
            .one_of(METRICS)
            .unwrap_or(Metric::Count);
        let field = body
            .optional("field")
            .about("The numeric property of the metric; a dot path reaches into objects.")
            .text(1..=TEXT_CHARS_MAX);
        if metric.has_field() && field.is_none() && !body.is_refused("field") {
            body.refuse("field", "is required for this metric");
        }
        if !metric.has_field() && field.is_some() {
            body.refuse("field", "must be absent: the metric is of no property");
        }
        Self { choice, metric, field }
    }
}

/// A question about trends.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendsQuestion {
    /// The series, in the order of the answer.
    pub series: Vec<Series>,
    /// The length of an interval; none for one of the whole range.
    pub interval: Option<Interval>,
    /// The range and its intervals.
    pub period: Period,
    /// What the series are broken down by.
    pub breakdown: Option<BreakdownBy>,
    /// Whose events count; everybody's where absent.
    pub people: Option<People>,
    /// Whether each series is answered for the time before as well.
    pub compares: bool,
}

described!(
    /// A question about trends.
    TrendsQuestion as "TrendsQuestion"
);

impl FromFields for TrendsQuestion {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let series: Vec<Series> = body.required("series").objects(1..=SERIES_MAX);
        refuse_many_filters(body, series.iter().map(|it| &it.choice));
        Self {
            series,
            interval: body
                .optional("interval")
                .about(
                    "`hour`, `day` (default), `week` (from Monday), `month`, or `none`: one total.",
                )
                .one_of(TREND_INTERVALS)
                .unwrap_or(Some(Interval::Day)),
            period: Period::read(body),
            breakdown: body.optional("breakdown").object(),
            people: body
                .optional("people")
                .about("A targeting, or `segmentId`: only events of these people.")
                .object(),
            compares: body
                .optional("compare")
                .about(
                    "`previous_period`: each series once more, for as many intervals right before.",
                )
                .one_of(COMPARISONS)
                .is_some(),
        }
    }
}

/// A question with its intervals, at a moment.
#[derive(Debug, Clone)]
pub struct TrendsPlan {
    /// Starts of the intervals.
    pub starts_ms: Vec<i64>,
    /// Those of the intervals before them, where they are asked for.
    pub compared_ms: Vec<i64>,
    span: analytics::insights::Span,
    compared: Option<analytics::insights::Span>,
    now: Timestamp,
}

impl TrendsQuestion {
    /// Finds the intervals of the range.
    ///
    /// # Errors
    /// Bad request when the range is none, or has more intervals or values than an answer may have.
    pub fn plan(&self, now: Timestamp) -> kernel::Result<TrendsPlan> {
        let span = self.period.span(now)?;
        let starts_ms = match self.interval {
            None => vec![span.start_ms],
            Some(interval) => self.period.intervals(interval, span)?,
        };
        self.refuse_many_values(starts_ms.len())?;
        let before = |start_ms| analytics::insights::Span { start_ms, end_ms: starts_ms[0] - 1 };
        let compared_ms = match self.interval {
            _ if !self.compares => Vec::new(),
            None => vec![span.start_ms - (span.end_ms - span.start_ms + 1)],
            Some(interval) => self.period.before(interval, starts_ms[0], starts_ms.len()),
        };
        let compared = compared_ms.first().copied().map(before);
        Ok(TrendsPlan { starts_ms, compared_ms, span, compared, now })
    }

    /// Whether it depends on copies of profiles in ClickHouse.
    pub fn needs_profiles(&self) -> bool {
        needs_profiles(self.people.as_ref(), self.breakdown.as_ref())
    }

    fn refuse_many_values(&self, intervals: usize) -> kernel::Result<()> {
        let limit = self.breakdown.as_ref().map_or(1, |by| by.limit as usize + 2);
        let values = intervals * limit * self.series.len() * (1 + usize::from(self.compares));
        if values <= VALUES_IN_ALL_MAX {
            return Ok(());
        }
        Err(kernel::Error::invalid(
            "interval",
            format!(
                "must make at most {VALUES_IN_ALL_MAX} values of all series, received up to {values}: \
                 ask for fewer intervals or a smaller breakdown.limit"
            ),
        ))
    }

    /// What ClickHouse is asked about a series.
    pub fn asked(&self, series: &Series, plan: &TrendsPlan, members: Option<Uuid>) -> TrendAsked {
        TrendAsked {
            choice: series.choice.at(plan.now),
            metric: series.metric,
            field: series.field.clone(),
            span: plan.span,
            compared: plan.compared,
            starts_ms: plan.compared_ms.iter().chain(&plan.starts_ms).copied().collect(),
            breakdown: self.breakdown.as_ref().map(|it| it.by.clone()),
            values_max: self.breakdown.as_ref().map_or(0, |it| it.limit),
            members,
        }
    }
}

/// A series of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The value of the breakdown.
    pub value: TrendValue,
    /// Whether it is of the time before.
    pub is_compared: bool,
    /// A figure for each interval.
    pub values: Vec<Option<Figure>>,
    /// The figure of the whole range.
    pub total: Option<Figure>,
}

/// Which curve a figure belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CurveKey {
    value: TrendValue,
    is_compared: bool,
}

/// The curves of a series: the values of a breakdown by their totals, absence, the rest; of the time before after each.
pub fn curves(
    metric: Metric,
    plan: &TrendsPlan,
    has_breakdown: bool,
    rows: Vec<TrendRow>,
) -> Vec<Curve> {
    let nothing = match metric {
        Metric::Count | Metric::Unique | Metric::Sum => Some(Figure::from_count(0)),
        _ => None,
    };
    let starts_of = |key: &CurveKey| {
        if key.is_compared { &plan.compared_ms } else { &plan.starts_ms }
    };
    let empty = |key: &CurveKey| Curve {
        value: key.value.clone(),
        is_compared: key.is_compared,
        values: vec![nothing.clone(); starts_of(key).len()],
        total: nothing.clone(),
    };
    let mut found: BTreeMap<CurveKey, Curve> = BTreeMap::new();
    let mut keys: Vec<CurveKey> = Vec::new();
    if !has_breakdown {
        keys.push(CurveKey { value: TrendValue::Absent, is_compared: false });
    }
    for TrendRow { start_ms, is_compared, value, figure } in rows {
        let key = CurveKey { value, is_compared };
        let curve = found.entry(key.clone()).or_insert_with(|| empty(&key));
        match start_ms.map(|start| starts_of(&key).binary_search(&start)) {
            None => curve.total = figure,
            Some(Ok(place)) => curve.values[place] = figure,
            Some(Err(_)) => {}
        }
    }
    keys.extend(found.keys().cloned());
    let has_compared = !plan.compared_ms.is_empty();
    for CurveKey { value, .. } in keys {
        for is_compared in [false, true].into_iter().take(1 + usize::from(has_compared)) {
            let key = CurveKey { value: value.clone(), is_compared };
            found.entry(key.clone()).or_insert_with(|| empty(&key));
        }
    }
    ranked(found)
}

/// Values by their totals in the range itself, the largest first; absence and the rest after them.
fn ranked(found: BTreeMap<CurveKey, Curve>) -> Vec<Curve> {
    let total = |curve: &Curve| curve.total.as_ref().map_or(f64::NEG_INFINITY, Figure::as_f64);
    let own = found.values().filter(|curve| !curve.is_compared);
    let totals: BTreeMap<TrendValue, f64> =
        own.map(|curve| (curve.value.clone(), total(curve))).collect();
    let total_of = |curve: &Curve| totals.get(&curve.value).copied().unwrap_or(f64::NEG_INFINITY);
    let rank = |curve: &Curve| match curve.value {
        TrendValue::Value(_) => 0,
        TrendValue::Absent => 1,
        TrendValue::Other => 2,
    };
    let mut curves: Vec<Curve> = found.into_values().collect();
    curves.sort_by(|one, other| {
        rank(one)
            .cmp(&rank(other))
            .then_with(|| total_of(other).total_cmp(&total_of(one)))
            .then_with(|| one.value.cmp(&other.value))
            .then_with(|| one.is_compared.cmp(&other.is_compared))
    });
    curves
}
