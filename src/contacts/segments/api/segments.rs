//! `/segments` and `/segments/:segmentId`: make, read, change and delete.

use axum::{Json, extract::State};
use contacts::ContactState;
use http::StatusCode;
use kernel::fields::describe::described;
use kernel::{
    SegmentId,
    fields::{Fields, FromFields},
    page::{PageWindow, Pagination},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, BodyFor, FromQuery, PathOf, Query, QueryFields},
};

use super::{
    Page,
    wire::{CountedSegment, SegmentBody, SegmentsPage},
};
use crate::{
    model::{NewSegment, SegmentPatch},
    ops,
};

pub(super) fn routes() -> OpenApiRouter<ContactState> {
    OpenApiRouter::new().routes(routes!(create_segment, list_segments)).routes(routes!(
        get_segment,
        update_segment,
        delete_segment
    ))
}

/// The body of a new segment.
#[derive(Debug)]
struct Create(NewSegment);

described!(
    /// A segment to create.
    Create as "SegmentFields"
);

impl FromFields for Create {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self(NewSegment::read(body))
    }
}

/// The body of a change of a segment.
#[derive(Debug)]
struct Update(SegmentPatch);

described!(
    /// A change to a segment; absent fields stay unchanged.
    Update as "SegmentChange"
);

impl FromFields for Update {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self(SegmentPatch::read(body))
    }
}

/// Creates a segment. A targeting that cannot be evaluated is refused.
#[utoipa::path(
    post,
    path = "/segments",
    tag = "segments",
    request_body = Create,
    responses(
        (status = 201, body = CountedSegment),
        (status = 409, description = "a segment of the workspace has the name"),
    )
)]
async fn create_segment(
    State(app): State<ContactState>,
    caller: Caller<scope::UsersWrite>,
    Body(Create(new)): Body<Create>,
) -> ApiResult<(StatusCode, Json<CountedSegment>)> {
    let (segment, size) = ops::create(&app, caller.workspace(), &caller.actor(), new).await?;
    Ok((StatusCode::CREATED, Json(CountedSegment::new(segment, size))))
}

/// Lists segments, newest first. Counting profiles takes time, so only one segment is answered with `count` and
/// `reach`.
#[utoipa::path(
    get,
    path = "/segments",
    tag = "segments",
    params(
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = SegmentsPage))
)]
async fn list_segments(
    State(app): State<ContactState>,
    caller: Caller<scope::UsersRead>,
    Query(Page { limit, offset }): Query<Page>,
) -> ApiResult<Json<SegmentsPage>> {
    let window = PageWindow { limit, offset };
    let (segments, total) = ops::list(&app, caller.workspace(), window).await?;
    let pagination = Pagination::new(window, segments.len(), total);
    let data = segments.into_iter().map(SegmentBody::from).collect();
    Ok(Json(SegmentsPage { data, pagination }))
}

/// Whether the profiles of a segment are counted.
#[derive(Debug, Clone, Copy)]
struct Counted(bool);

impl FromQuery for Counted {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self(query.flag("counted", true))
    }
}

/// Reads a segment, with the number of profiles in it now.
#[utoipa::path(
    get,
    path = "/segments/{segmentId}",
    tag = "segments",
    params(
        ("segmentId" = SegmentId, Path),
        ("counted" = Option<bool>, Query, description = "default true; false leaves `count` and `reach` out, which take time"),
    ),
    responses((status = 200, body = CountedSegment), (status = 404, description = "no such segment"))
)]
async fn get_segment(
    State(app): State<ContactState>,
    caller: Caller<scope::UsersRead>,
    Query(Counted(is_counted)): Query<Counted>,
    PathOf(id): PathOf<SegmentId>,
) -> ApiResult<Json<CountedSegment>> {
    let workspace = caller.workspace();
    if !is_counted {
        let segment = ops::find(&app, workspace, id).await?;
        return Ok(Json(CountedSegment::uncounted(segment)));
    }
    let (segment, size) = ops::get(&app, workspace, id).await?;
    Ok(Json(CountedSegment::new(segment, size)))
}

/// Changes a segment. What uses it follows at once.
#[utoipa::path(
    put,
    path = "/segments/{segmentId}",
    tag = "segments",
    params(("segmentId" = SegmentId, Path)),
    request_body = Update,
    responses(
        (status = 200, body = CountedSegment),
        (status = 404, description = "no such segment"),
        (status = 409, description = "another segment of the workspace has the name"),
    )
)]
async fn update_segment(
    State(app): State<ContactState>,
    caller: Caller<scope::UsersWrite>,
    BodyFor(id, Body(Update(patch))): BodyFor<SegmentId, Body<Update>>,
) -> ApiResult<Json<CountedSegment>> {
    let (workspace, actor) = (caller.workspace(), caller.actor());
    let (segment, size) = if patch.is_empty() {
        ops::get(&app, workspace, id).await?
    } else {
        ops::update(&app, workspace, &actor, id, &patch).await?
    };
    Ok(Json(CountedSegment::new(segment, size)))
}

/// Deletes a segment that no other segment uses, and no campaign that has not ended.
#[utoipa::path(
    delete,
    path = "/segments/{segmentId}",
    tag = "segments",
    params(("segmentId" = SegmentId, Path)),
    responses(
        (status = 204, description = "deleted"),
        (status = 404, description = "no such segment"),
        (status = 409, description = "in use; the message names by what"),
    )
)]
async fn delete_segment(
    State(app): State<ContactState>,
    caller: Caller<scope::UsersWrite>,
    PathOf(id): PathOf<SegmentId>,
) -> ApiResult<StatusCode> {
    ops::delete(&app, caller.workspace(), &caller.actor(), id).await?;
    Ok(StatusCode::NO_CONTENT)
}
