//! `POST /insights/retention`: people who return.

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
    model::{period::shown, retention::RetentionQuestion},
    ops::{self, InsightState},
};

pub(super) fn routes() -> OpenApiRouter<InsightState> {
    OpenApiRouter::new().routes(routes!(compute_retention))
}

/// How many people of each cohort return.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Retention)]
#[serde(rename_all = "camelCase")]
pub(super) struct RetentionBody {
    /// Where the range begins before the time for which events are kept: from when on the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_from: Option<Timestamp>,
    cohorts: Vec<RetentionCohort>,
}

/// People who began in one interval.
#[derive(Debug, Serialize, ToSchema)]
struct RetentionCohort {
    /// Start of the interval, UTC.
    from: String,
    #[serde(skip)]
    start_ms: i64,
    /// People who began in it.
    size: u64,
    /// People who returned in interval 0, 1, …; null where it lies ahead.
    values: Vec<Option<u64>>,
}

/// Follows those who began in an interval, and counts who returns.
#[utoipa::path(
    post,
    path = "/insights/retention",
    tag = "insights",
    params(("format" = Option<String>, Query, description = "`json` (default), `csv`, `parquet` or `arrow`; beats the header Accept")),
    request_body = RetentionQuestion,
    responses((
        status = 200,
        description = "the answer; a long table in other formats than JSON",
        content(
            (RetentionBody = "application/json"),
            (String = "text/csv"),
            (String = "application/vnd.apache.parquet"),
            (String = "application/vnd.apache.arrow.stream"),
        )
    ))
)]
async fn compute_retention(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsRead>,
    wanted: Wanted,
    Body(question): Body<RetentionQuestion>,
) -> ApiResult<Response> {
    Ok(wanted.answer(&computed(&app, caller.workspace(), &question).await?)?)
}

pub(super) async fn computed(
    app: &InsightState,
    workspace: WorkspaceId,
    question: &RetentionQuestion,
) -> Result<RetentionBody> {
    let cohorts = ops::retention(app, workspace, question).await?;
    let cohorts = cohorts.into_iter().map(|cohort| RetentionCohort {
        from: shown(cohort.start_ms),
        start_ms: cohort.start_ms,
        size: cohort.size,
        values: cohort.returned,
    });
    let start_ms = question.period.span(app.clock().now())?.start_ms;
    Ok(RetentionBody {
        complete_from: app.events_complete_from(workspace, start_ms).await?,
        cohorts: cohorts.collect(),
    })
}

impl Tabular for RetentionBody {
    const NAME: &'static str = "retention";

    fn schema() -> Schema {
        Schema::new([
            Column::required("cohort", ColumnType::Timestamp),
            Column::required("size", ColumnType::Integer),
            Column::required("interval", ColumnType::Integer),
            Column::nullable("people", ColumnType::Integer),
        ])
    }

    fn rows(
        &self,
        write: &mut dyn FnMut(&[Value<'_>]) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let count = |people: u64| i64::try_from(people).unwrap_or(i64::MAX);
        for cohort in &self.cohorts {
            for (number, people) in (0..).zip(&cohort.values) {
                write(&[
                    Value::Timestamp(cohort.start_ms),
                    Value::Integer(count(cohort.size)),
                    Value::Integer(number),
                    people.map(count).into(),
                ])?;
            }
        }
        Ok(())
    }
}
