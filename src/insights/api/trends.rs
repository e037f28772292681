//! `POST /insights/trends`: figures of series over intervals.

use analytics::{events::Figure, insights::TrendValue};
use axum::{extract::State, response::Response};
use kernel::{Result, Timestamp, WorkspaceId, fields::word_for};
use serde::Serialize;
use tables::{Column, ColumnType, Schema, TableError, Value};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body},
};

use super::answer::{Tabular, Wanted};
use crate::{
    model::{
        period::shown,
        trends::{Curve, METRICS, TrendsQuestion},
    },
    ops::{self, InsightState},
};

pub(super) fn routes() -> OpenApiRouter<InsightState> {
    OpenApiRouter::new().routes(routes!(compute_trends))
}

/// Figures of each series.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Trends {
    /// Where the range begins before the time for which events are kept: from when on the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from: Option<Timestamp>,
    /// Start of each interval, UTC. The first may begin before the range; events count from the range on.
    intervals: Vec<String>,
    series: Vec<TrendSeries>,
    #[serde(skip)]
    starts_ms: Vec<i64>,
}

/// One series, or one value of its breakdown.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TrendSeries {
    label: String,
    event_name: Option<String>,
    metric: &'static str,
    /// The value of the breakdown; null where it is absent, of the rest, and without a breakdown.
    breakdown: Option<String>,
    /// Whether it is of all values that are not among the largest.
    other: bool,
    #[serde(skip)]
    has_breakdown: bool,
    /// Whether it is of the intervals right before the range.
    compared: bool,
    /// One value an interval; null where the metric has none.
    #[schema(value_type = Vec<Option<f64>>)]
    values: Vec<Option<Figure>>,
    /// The metric of the whole range: of `unique` distinct people, not the sum of the intervals.
    #[schema(value_type = Option<f64>)]
    total: Option<Figure>,
}

/// Counts events or people, or computes numbers of events, by intervals.
#[utoipa::path(
    post,
    path = "/insights/trends",
    tag = "insights",
    params(("format" = Option<String>, Query, description = "`json` (default), `csv`, `parquet` or `arrow`; beats the header Accept")),
    request_body = TrendsQuestion,
    responses((
        status = 200,
        description = "the answer; a long table in other formats than JSON",
        content(
            (Trends = "application/json"),
            (String = "text/csv"),
            (String = "application/vnd.apache.parquet"),
            (String = "application/vnd.apache.arrow.stream"),
        )
    ))
)]
async fn compute_trends(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsRead>,
    wanted: Wanted,
    Body(question): Body<TrendsQuestion>,
) -> ApiResult<Response> {
    Ok(wanted.answer(&computed(&app, caller.workspace(), &question).await?)?)
}

pub(super) async fn computed(
    app: &InsightState,
    workspace: WorkspaceId,
    question: &TrendsQuestion,
) -> Result<Trends> {
    let answer = ops::trends(app, workspace, question).await?;
    let start_ms = question.period.span(app.clock().now())?.start_ms;
    let series = answer.series.into_iter().flat_map(|of| {
        let asked = &question.series[of.series];
        of.curves.into_iter().map(move |Curve { value, is_compared, values, total }| TrendSeries {
            label: asked.choice.shown(),
            event_name: asked.choice.event_name.clone(),
            metric: word_for(METRICS, asked.metric),
            other: value == TrendValue::Other,
            has_breakdown: question.breakdown.is_some(),
            breakdown: match value {
                TrendValue::Value(text) => Some(text),
                TrendValue::Absent | TrendValue::Other => None,
            },
            compared: is_compared,
            values,
            total,
        })
    });
    Ok(Trends {
        complete_from: app.events_complete_from(workspace, start_ms).await?,
        intervals: answer.starts_ms.iter().map(|start| shown(*start)).collect(),
        series: series.collect(),
        starts_ms: answer.starts_ms,
    })
}

impl TrendSeries {
    /// Whose events it is about, as `people_of` of a funnel.
    fn events_of(&self) -> &'static str {
        match &self.breakdown {
            _ if !self.has_breakdown => "all",
            _ if self.other => "other",
            Some(_) => "value",
            None => "absent",
        }
    }
}

impl Tabular for Trends {
    const NAME: &'static str = "trends";

    fn schema() -> Schema {
        Schema::new([
            Column::required("interval", ColumnType::Timestamp),
            Column::required("label", ColumnType::Text),
            Column::nullable("event_name", ColumnType::Text),
            Column::required("metric", ColumnType::Text),
            Column::nullable("breakdown", ColumnType::Text),
            Column::required("other", ColumnType::Boolean),
            Column::required("compared", ColumnType::Boolean),
            Column::nullable("value", ColumnType::Number),
            // Distinguishes the rows whose breakdown is null, and in CSV these from an empty text.
            Column::required("events_of", ColumnType::Text),
        ])
    }

    fn rows(
        &self,
        write: &mut dyn FnMut(&[Value<'_>]) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        for series in &self.series {
            for (start, value) in self.starts_ms.iter().zip(&series.values) {
                write(&[
                    Value::Timestamp(*start),
                    Value::Text(&series.label),
                    series.event_name.as_deref().into(),
                    Value::Text(series.metric),
                    series.breakdown.as_deref().into(),
                    Value::Boolean(series.other),
                    Value::Boolean(series.compared),
                    value.as_ref().map(Figure::as_f64).into(),
                    Value::Text(series.events_of()),
                ])?;
            }
        }
        Ok(())
    }
}
