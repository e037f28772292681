//! `GET /segments/:segmentId/members`: the profiles in a segment.

use axum::{Json, extract::State};
use contacts::{
    ContactState,
    users::{self, api::UsersPage},
};
use kernel::{SegmentId, page::PageWindow};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, PathOf, Query},
};

use super::Page;
use crate::ops;

pub(super) fn routes() -> OpenApiRouter<ContactState> {
    OpenApiRouter::new().routes(routes!(list_segment_members))
}

/// Lists the profiles in a segment now, latest change first.
#[utoipa::path(
    get,
    path = "/segments/{segmentId}/members",
    tag = "segments",
    params(
        ("segmentId" = SegmentId, Path),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = UsersPage), (status = 404, description = "no such segment"))
)]
async fn list_segment_members(
    State(app): State<ContactState>,
    caller: Caller<scope::UsersRead>,
    Query(Page { limit, offset }): Query<Page>,
    PathOf(id): PathOf<SegmentId>,
) -> ApiResult<Json<UsersPage>> {
    let (workspace, window) = (caller.workspace(), PageWindow { limit, offset });
    let (ids, total) = ops::members(&app, workspace, id, window).await?;
    let users = users::ops::in_order(app.db(), workspace, &ids).await?;
    Ok(Json(UsersPage::of(&app, workspace, users, total, window).await))
}
