//! `POST /insights/funnels`: people through steps.

use axum::{extract::State, response::Response};
use kernel::{Result, Timestamp, WorkspaceId};
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
    model::funnels::{FunnelOf, FunnelQuestion, FunnelSteps},
    ops::{self, InsightState},
};

pub(super) fn routes() -> OpenApiRouter<InsightState> {
    OpenApiRouter::new().routes(routes!(compute_funnel))
}

/// How many people reached each step.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunnelBody {
    /// Where the range begins before the time for which events are kept: from when on the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from: Option<Timestamp>,
    /// People with an event of the first step in the range.
    entered: u64,
    steps: Vec<FunnelStep>,
    /// The funnel of each value of the breakdown; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    breakdown: Option<Vec<FunnelValue>>,
}

/// One step of a funnel.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FunnelStep {
    label: String,
    /// People who reached it.
    people: u64,
    /// The fraction of those who reached the step before; null without any.
    from_previous: Option<f64>,
    /// The fraction of those who entered; null without any.
    from_start: Option<f64>,
    /// The 95 % Wilson interval of `fromStart`, both ends; null without entries.
    #[schema(value_type = Option<[f64; 2]>)]
    interval: Option<[f64; 2]>,
    /// Median seconds from the step before; null of the first step, and without people.
    median_seconds_from_previous: Option<f64>,
}

/// The funnel of people with one value of the breakdown.
#[derive(Debug, Serialize, ToSchema)]
struct FunnelValue {
    /// The value at the entry; null where it is absent, and of the rest.
    breakdown: Option<String>,
    /// Whether it is of all values that are not among the largest.
    other: bool,
    entered: u64,
    steps: Vec<FunnelStep>,
}

fn steps(question: &FunnelQuestion, found: FunnelSteps) -> Vec<FunnelStep> {
    let steps = question.steps.iter().zip(found.steps);
    steps
        .map(|(asked, step)| FunnelStep {
            label: asked.shown(),
            people: step.people,
            from_previous: step.from_previous,
            from_start: step.from_start,
            interval: step.interval.map(|it| [it.lower, it.upper]),
            median_seconds_from_previous: step.median_seconds,
        })
        .collect()
}

/// Follows people through steps, in order and within a window of time.
#[utoipa::path(
    post,
    path = "/insights/funnels",
    tag = "insights",
    params(("format" = Option<String>, Query, description = "`json` (default), `csv`, `parquet` or `arrow`; beats the header Accept")),
    request_body = FunnelQuestion,
    responses((
        status = 200,
        description = "the answer; a long table in other formats than JSON",
        content(
            (FunnelBody = "application/json"),
            (String = "text/csv"),
            (String = "application/vnd.apache.parquet"),
            (String = "application/vnd.apache.arrow.stream"),
        )
    ))
)]
async fn compute_funnel(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsRead>,
    wanted: Wanted,
    Body(question): Body<FunnelQuestion>,
) -> ApiResult<Response> {
    Ok(wanted.answer(&computed(&app, caller.workspace(), &question).await?)?)
}

pub(super) async fn computed(
    app: &InsightState,
    workspace: WorkspaceId,
    question: &FunnelQuestion,
) -> Result<FunnelBody> {
    let answer = ops::funnel(app, workspace, question).await?;
    let of_value = |FunnelOf { value, is_other, steps: found }: FunnelOf| FunnelValue {
        breakdown: value,
        other: is_other,
        entered: found.entered,
        steps: steps(question, found),
    };
    let start_ms = question.period.span(app.clock().now())?.start_ms;
    Ok(FunnelBody {
        complete_from: app.events_complete_from(workspace, start_ms).await?,
        entered: answer.all.entered,
        breakdown: answer.by_value.map(|them| them.into_iter().map(of_value).collect()),
        steps: steps(question, answer.all),
    })
}

impl Tabular for FunnelBody {
    const NAME: &'static str = "funnel";

    fn schema() -> Schema {
        Schema::new([
            Column::nullable("breakdown", ColumnType::Text),
            Column::required("step", ColumnType::Integer),
            Column::required("label", ColumnType::Text),
            Column::required("people", ColumnType::Integer),
            Column::nullable("from_previous", ColumnType::Number),
            Column::nullable("from_start", ColumnType::Number),
            Column::nullable("low", ColumnType::Number),
            Column::nullable("high", ColumnType::Number),
            Column::nullable("median_seconds", ColumnType::Number),
            // Distinguishes the rows whose breakdown is null.
            Column::required("people_of", ColumnType::Text),
        ])
    }

    fn rows(
        &self,
        write: &mut dyn FnMut(&[Value<'_>]) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let all = Part { people_of: "all", breakdown: None, steps: &self.steps };
        all.rows(write)?;
        for of in self.breakdown.iter().flatten() {
            let people_of = match (&of.breakdown, of.other) {
                (_, true) => "other",
                (Some(_), _) => "value",
                (None, _) => "absent",
            };
            let breakdown = of.breakdown.as_deref();
            Part { people_of, breakdown, steps: &of.steps }.rows(write)?;
        }
        Ok(())
    }
}

/// Rows of a table: the steps of everybody, or of the people with one value of the breakdown.
struct Part<'a> {
    people_of: &'static str,
    breakdown: Option<&'a str>,
    steps: &'a [FunnelStep],
}

impl Part<'_> {
    fn rows(
        &self,
        write: &mut dyn FnMut(&[Value<'_>]) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        for (number, step) in (1..).zip(self.steps) {
            write(&[
                self.breakdown.into(),
                Value::Integer(number),
                Value::Text(&step.label),
                Value::Integer(i64::try_from(step.people).unwrap_or(i64::MAX)),
                step.from_previous.into(),
                step.from_start.into(),
                step.interval.map(|[low, _]| low).into(),
                step.interval.map(|[_, high]| high).into(),
                step.median_seconds_from_previous.into(),
                Value::Text(self.people_of),
            ])?;
        }
        Ok(())
    }
}
