//! `/insights` and `/insights/:insightId`: questions saved under a name.

use axum::{Json, extract::State, response::Response};
use http::StatusCode;
use kernel::{
    InsightId, Timestamp,
    page::{PageWindow, Pagination},
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, BodyFor, OffsetPage, PathOf, Query},
};

use super::{answer::Wanted, funnels, retention, trends};
use crate::{
    model::saved::{Insight, InsightPatch, NewInsight, Question},
    ops::{InsightState, saved},
};

/// Rows on a page where the caller asks for no number, and at most.
type Page = OffsetPage<50, 200>;

pub(super) fn routes() -> OpenApiRouter<InsightState> {
    OpenApiRouter::new()
        .routes(routes!(create_insight, list_insights))
        .routes(routes!(get_insight, update_insight, delete_insight))
        .routes(routes!(compute_insight))
}

/// A question saved under a name.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Insight)]
struct InsightBody {
    id: InsightId,
    name: String,
    /// `trends`, `funnels` or `retention`.
    kind: &'static str,
    /// The question as it was sent.
    #[schema(value_type = Object)]
    question: Map<String, Value>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Insight> for InsightBody {
    fn from(insight: Insight) -> Self {
        let Insight { id, name, kind, question, created_at, updated_at } = insight;
        Self { id, name, kind: kind.as_str(), question, created_at, updated_at }
    }
}

/// A page of insights.
#[derive(Debug, Serialize, ToSchema)]
struct InsightsPage {
    /// The page, newest first.
    data: Vec<InsightBody>,
    pagination: Pagination,
}

/// Saves a question under a name.
#[utoipa::path(
    post,
    path = "/insights",
    tag = "insights",
    request_body = NewInsight,
    responses((status = 201, body = InsightBody))
)]
async fn create_insight(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsWrite>,
    Body(new): Body<NewInsight>,
) -> ApiResult<(StatusCode, Json<InsightBody>)> {
    let insight = saved::create(&app, caller.workspace(), &caller.actor(), new).await?;
    Ok((StatusCode::CREATED, Json(insight.into())))
}

/// Lists saved insights, newest first.
#[utoipa::path(
    get,
    path = "/insights",
    tag = "insights",
    params(
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = InsightsPage))
)]
async fn list_insights(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsRead>,
    Query(Page { limit, offset }): Query<Page>,
) -> ApiResult<Json<InsightsPage>> {
    let window = PageWindow { limit, offset };
    let (insights, total) = saved::list(&app, caller.workspace(), window).await?;
    let pagination = Pagination::new(window, insights.len(), total);
    let data = insights.into_iter().map(InsightBody::from).collect();
    Ok(Json(InsightsPage { data, pagination }))
}

/// Reads a saved insight.
#[utoipa::path(
    get,
    path = "/insights/{insightId}",
    tag = "insights",
    params(("insightId" = InsightId, Path)),
    responses((status = 200, body = InsightBody), (status = 404, description = "no such insight"))
)]
async fn get_insight(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsRead>,
    PathOf(id): PathOf<InsightId>,
) -> ApiResult<Json<InsightBody>> {
    Ok(Json(saved::get(&app, caller.workspace(), id).await?.into()))
}

/// Changes a saved insight.
#[utoipa::path(
    put,
    path = "/insights/{insightId}",
    tag = "insights",
    params(("insightId" = InsightId, Path)),
    request_body = InsightPatch,
    responses((status = 200, body = InsightBody), (status = 404, description = "no such insight"))
)]
async fn update_insight(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsWrite>,
    BodyFor(id, Body(patch)): BodyFor<InsightId, Body<InsightPatch>>,
) -> ApiResult<Json<InsightBody>> {
    let insight = saved::update(&app, caller.workspace(), &caller.actor(), id, patch).await?;
    Ok(Json(insight.into()))
}

/// Deletes a saved insight.
#[utoipa::path(
    delete,
    path = "/insights/{insightId}",
    tag = "insights",
    params(("insightId" = InsightId, Path)),
    responses((status = 204, description = "deleted"), (status = 404, description = "no such insight"))
)]
async fn delete_insight(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsWrite>,
    PathOf(id): PathOf<InsightId>,
) -> ApiResult<StatusCode> {
    saved::delete(&app, caller.workspace(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answers a saved insight now, as its kind is answered.
#[utoipa::path(
    get,
    path = "/insights/{insightId}/result",
    tag = "insights",
    params(
        ("insightId" = InsightId, Path),
        ("format" = Option<String>, Query, description = "`json` (default), `csv`, `parquet` or `arrow`; beats the header Accept"),
    ),
    responses(
        (
            status = 200,
            description = "the answer; a long table in other formats than JSON",
            content(
                (Object = "application/json"),
                (String = "text/csv"),
                (String = "application/vnd.apache.parquet"),
                (String = "application/vnd.apache.arrow.stream"),
            )
        ),
        (status = 404, description = "no such insight"),
    )
)]
async fn compute_insight(
    State(app): State<InsightState>,
    caller: Caller<scope::EventsRead>,
    wanted: Wanted,
    PathOf(id): PathOf<InsightId>,
) -> ApiResult<Response> {
    let workspace = caller.workspace();
    let insight = saved::get(&app, workspace, id).await?;
    Ok(match Question::stored(insight.kind, &insight.question)? {
        Question::Trends(question) => {
            wanted.answer(&trends::computed(&app, workspace, &question).await?)?
        }
        Question::Funnels(question) => {
            wanted.answer(&funnels::computed(&app, workspace, &question).await?)?
        }
        Question::Retention(question) => {
            wanted.answer(&retention::computed(&app, workspace, &question).await?)?
        }
    })
}
