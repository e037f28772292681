//! Reads segments and their members.

use audience::{
    model::{AudienceQuery, Targeting},
    ops::Audience,
};
use contacts::ContactState;
use kernel::{Result, SegmentId, UserId, WorkspaceId, page::PageWindow};
use web::Services;

use super::NOT_FOUND;
use crate::{
    model::{Segment, SegmentCount},
    store,
};

/// A page of segments, newest first, and their total number.
pub async fn list(
    app: &Services,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<(Vec<Segment>, u64)> {
    let rows = store::page(app.db(), workspace, window).await?;
    Ok((rows, store::count(app.db(), workspace).await?))
}

/// A segment, not counted.
///
/// # Errors
/// Not found.
pub async fn find(app: &Services, workspace: WorkspaceId, id: SegmentId) -> Result<Segment> {
    store::find(app.db(), workspace, id).await?.ok_or(NOT_FOUND)
}

/// A segment and its size now.
///
/// # Errors
/// Not found; bad request when the targeting takes too long.
pub async fn get(
    app: &ContactState,
    workspace: WorkspaceId,
    id: SegmentId,
) -> Result<(Segment, SegmentCount)> {
    let segment = find(app, workspace, id).await?;
    let count = measure(app, workspace, &segment.targeting).await?;
    Ok((segment, count))
}

/// The number of profiles that a segment of this targeting has, from one snapshot.
///
/// # Errors
/// As [`Audience::open`] and [`Audience::measure`].
pub(super) async fn measure(
    app: &ContactState,
    workspace: WorkspaceId,
    targeting: &Targeting,
) -> Result<SegmentCount> {
    let query = AudienceQuery { targeting: Some(targeting), ..AudienceQuery::default() };
    let mut audience = Audience::open_segment(app, workspace, &query).await?;
    let measured = audience.measure_by_channel().await?;
    audience.close().await?;
    Ok(SegmentCount { count: measured.matched, reach: measured.reachable })
}

/// A page of the members of a segment, latest change first, and their total number.
///
/// # Errors
/// As [`get`].
pub async fn members(
    app: &ContactState,
    workspace: WorkspaceId,
    id: SegmentId,
    window: PageWindow,
) -> Result<(Vec<UserId>, u64)> {
    let segment = find(app, workspace, id).await?;
    let query = AudienceQuery { targeting: Some(&segment.targeting), ..AudienceQuery::default() };
    let mut audience = Audience::open_segment(app, workspace, &query).await?;
    let total = audience.measure().await?.matched;
    let page = if window.offset < total { audience.latest(window).await? } else { Vec::new() };
    audience.close().await?;
    Ok((page, total))
}
