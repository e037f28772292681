//! `POST /events/aggregate`: counts and sums of one event over time.

use analytics::events::{
    Aggregate, AggregateAnswer, Bucket, Figure, FilterError, Metric, PropertyFilter, Unit,
};
use axum::{Json, extract::State};
use kernel::fields::describe::{described, words_schema};
use kernel::{
    DayEdge, Timestamp,
    fields::{Fields, FromFields, word_for},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, Body},
};

use crate::events::ops;

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(aggregate_events))
}

/// Characters of an event name, and of a property's path.
const NAME_CHARS_MAX: usize = 255;

const UNITS: &[(&str, Unit)] =
    &[("hour", Unit::Hour), ("day", Unit::Day), ("week", Unit::Week), ("month", Unit::Month)];
const METRICS: &[(&str, Metric)] = &[
    ("count", Metric::Count),
    ("sum", Metric::Sum),
    ("avg", Metric::Avg),
    ("min", Metric::Min),
    ("max", Metric::Max),
];

words_schema!(
    /// The length of a period.
    PeriodUnit = UNITS
);

words_schema!(
    /// A figure of a period.
    MetricName = METRICS
);

/// The body of an aggregation, checked.
#[derive(Debug)]
pub(super) struct AggregateBody(Aggregate);

described!(
    /// An aggregation of one event.
    AggregateBody as "AggregateQuestion"
);

impl FromFields for AggregateBody {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let event_name =
            body.required("eventName").about("The event to count.").text(1..=NAME_CHARS_MAX);
        let start = body.optional("startDate").timestamp(DayEdge::Start);
        let end = body
            .optional("endDate")
            .about("ISO 8601, inclusive; a date alone means its end.")
            .timestamp(DayEdge::End);
        if start.zip(end).is_some_and(|(start, end)| start > end) {
            body.refuse("startDate", "must not be after endDate");
        }
        let group_by = body
            .optional("groupBy")
            .about("`hour`, `day` (default), `week` or `month`.")
            .as_type::<PeriodUnit>()
            .one_of(UNITS)
            .unwrap_or(Unit::Day);
        let metrics = body
            .optional("metrics")
            .about("Of `count` (default), `sum`, `avg`, `min`, `max`.")
            .list(1..=METRICS.len(), |item| item.as_type::<MetricName>().one_of(METRICS))
            .unwrap_or_else(|| vec![Metric::Count]);
        let sum_field = body
            .optional("sumField")
            .about("Key in properties to sum; a dot path reaches into objects.")
            .text(1..=NAME_CHARS_MAX);
        let avg_field = body
            .optional("avgField")
            .about("Key in properties to average; default `sumField`.")
            .text(1..=NAME_CHARS_MAX);
        let min_field = body
            .optional("minField")
            .about("Key in properties of the least; default `sumField`, else `avgField`.")
            .text(1..=NAME_CHARS_MAX);
        let max_field = body
            .optional("maxField")
            .about("Key in properties of the greatest; default `sumField`, else `avgField`.")
            .text(1..=NAME_CHARS_MAX);
        let question = Aggregate {
            event_name,
            start_ms: start.map(Timestamp::millis),
            end_ms: end.map(Timestamp::millis),
            group_by,
            metrics,
            sum_field,
            avg_field,
            min_field,
            max_field,
            property_filters: property_filters(body),
            fill_gaps: body
                .optional("fillGaps")
                .about("Also answer the periods without events; default false.")
                .bool()
                .unwrap_or(false),
        };
        refuse_metrics_without_field(body, &question);
        Self(question)
    }
}

/// Refuses metrics without a property to compute them of; only `count` needs none.
fn refuse_metrics_without_field(body: &mut Fields<'_>, question: &Aggregate) {
    for metric in &question.metrics {
        if *metric != Metric::Count && question.field(*metric).is_none() {
            let name = word_for(METRICS, *metric);
            body.refuse_body(format!("sumField or avgField is required for metric {name}"));
        }
    }
}

fn property_filters(body: &mut Fields<'_>) -> Vec<PropertyFilter> {
    let given = body
        .optional("eventProperties")
        .about("Values that properties must equal; a list means any of its values.")
        .json_object()
        .unwrap_or_default();
    PropertyFilter::from_json(&given).unwrap_or_else(|error| {
        match error {
            FilterError::TooMany | FilterError::NoName => {
                body.refuse("eventProperties", error.to_string());
            }
            // These texts begin with the property's path.
            _ => body.refuse_body(format!("eventProperties.{error}")),
        }
        Vec::new()
    })
}

/// The answer to an aggregation of one event.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Aggregated {
    success: bool,
    data: AggregatedData,
}

/// The request as it was understood, and its buckets.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AggregatedData {
    event_name: String,
    /// The unit of the buckets.
    group_by: &'static str,
    /// The requested metrics, as in the body.
    metrics: Vec<&'static str>,
    results: Vec<AggregatedBucket>,
    /// Where the range begins before the time for which events are kept: from when on the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from: Option<Timestamp>,
    /// Events counted in all buckets.
    total: u64,
}

/// A metric in a bucket: absent if it was not requested, `null` if no event has a number for it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum MetricValue {
    NotRequested,
    /// No event has a number for it.
    Null,
    Figure(Figure),
}

impl MetricValue {
    fn is_absent(&self) -> bool {
        matches!(self, Self::NotRequested)
    }
}

/// One bucket: the requested metrics, and always the count.
#[derive(Debug, Serialize, ToSchema)]
struct AggregatedBucket {
    /// Start of the bucket, UTC.
    period: Timestamp,
    count: u64,
    /// Sum of `sumField`; 0 where no event has a number there.
    #[serde(skip_serializing_if = "MetricValue::is_absent")]
    #[schema(value_type = Option<f64>)]
    sum_value: MetricValue,
    /// Average of `avgField`; null where no event has a number there.
    #[serde(skip_serializing_if = "MetricValue::is_absent")]
    #[schema(value_type = Option<f64>)]
    avg_value: MetricValue,
    #[serde(skip_serializing_if = "MetricValue::is_absent")]
    #[schema(value_type = Option<f64>)]
    min_value: MetricValue,
    #[serde(skip_serializing_if = "MetricValue::is_absent")]
    #[schema(value_type = Option<f64>)]
    max_value: MetricValue,
}

/// Counts and sums an event over time.
#[utoipa::path(
    post,
    path = "/events/aggregate",
    tag = "events",
    request_body = AggregateBody,
    responses((status = 200, body = Aggregated))
)]
async fn aggregate_events(
    State(app): State<Services>,
    caller: Caller<scope::EventsRead>,
    Body(AggregateBody(question)): Body<AggregateBody>,
) -> ApiResult<Json<Aggregated>> {
    let answer = ops::read::aggregate(&app, caller.workspace(), &question).await?;
    let start_ms = question.start_ms.unwrap_or(i64::MIN);
    let data = AggregatedData {
        complete_from: app.events_complete_from(caller.workspace(), start_ms).await?,
        ..describe(question, answer)
    };
    Ok(Json(Aggregated { success: true, data }))
}

fn describe(question: Aggregate, answer: AggregateAnswer) -> AggregatedData {
    let metrics = &question.metrics;
    let bucket = |row: Bucket| AggregatedBucket {
        period: Timestamp::from_millis(row.period_ms),
        count: row.count,
        sum_value: metric_value(metrics, Metric::Sum, row.sum),
        avg_value: metric_value(metrics, Metric::Avg, row.avg),
        min_value: metric_value(metrics, Metric::Min, row.min),
        max_value: metric_value(metrics, Metric::Max, row.max),
    };
    let results = answer.rows.into_iter().map(bucket).collect();
    AggregatedData {
        group_by: word_for(UNITS, question.group_by),
        metrics: metrics.iter().map(|metric| word_for(METRICS, *metric)).collect(),
        results,
        complete_from: None,
        total: answer.total,
        event_name: question.event_name,
    }
}

fn metric_value(requested: &[Metric], metric: Metric, value: Option<Figure>) -> MetricValue {
    match value {
        _ if !requested.contains(&metric) => MetricValue::NotRequested,
        None => MetricValue::Null,
        Some(figure) => MetricValue::Figure(figure),
    }
}
