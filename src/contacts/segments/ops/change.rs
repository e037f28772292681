//! Creates, changes and deletes segments.

use audience::{model::Targeting, ops::fault};
use contacts::ContactState;
use kernel::{Error, Result, SegmentId, WorkspaceId};
use sqlx::PgConnection;

use super::{NOT_FOUND, read::measure};
use crate::{
    model::{NewSegment, Segment, SegmentCount, SegmentPatch, graph::Node},
    store::{self, Users, Write},
};

/// Creates a segment. Its targeting is evaluated first, so that one that cannot be is not saved.
///
/// # Errors
/// Those of the targeting; a conflict when a segment has the name; a bad request beyond the limits of a workspace.
pub async fn create(
    app: &ContactState,
    workspace: WorkspaceId,
    actor: &str,
    new: NewSegment,
) -> Result<(Segment, SegmentCount)> {
    let count = evaluate(app, workspace, &new.targeting).await?;
    let now = app.clock().now();
    let NewSegment { name, description, targeting } = new;
    let id = SegmentId::mint(now);
    let segment = Segment { id, name, description, targeting, created_at: now, updated_at: now };
    let mut tx = app.db().begin().await?;
    store::lock(&mut tx, workspace).await?;
    store::insert(&mut tx, workspace, actor, &segment).await?;
    store::check_limits(&mut tx, workspace).await?;
    set_uses(&mut tx, workspace, &segment).await?;
    tx.commit().await?;
    tracing::info!(%workspace, segment = %id, actor, "segment created");
    Ok((segment, count))
}

/// Changes a segment. An empty change leaves `updated_at` as it was.
///
/// # Errors
/// Not found; otherwise as [`create`].
pub async fn update(
    app: &ContactState,
    workspace: WorkspaceId,
    actor: &str,
    id: SegmentId,
    patch: &SegmentPatch,
) -> Result<(Segment, SegmentCount)> {
    let before = store::find(app.db(), workspace, id).await?.ok_or(NOT_FOUND)?;
    let count = match &patch.targeting {
        Some(targeting) => evaluate(app, workspace, targeting).await?,
        None => measure(app, workspace, &before.targeting).await?,
    };
    let now = app.clock().now();
    let mut tx = app.db().begin().await?;
    store::lock(&mut tx, workspace).await?;
    let write = Write { actor, now };
    let segment = store::update(&mut tx, workspace, id, write, patch).await?.ok_or(NOT_FOUND)?;
    if patch.targeting.is_some() {
        store::check_limits(&mut tx, workspace).await?;
        set_uses(&mut tx, workspace, &segment).await?;
    }
    tx.commit().await?;
    tracing::info!(%workspace, segment = %id, actor, "segment changed");
    Ok((segment, count))
}

/// Counts the profiles of a targeting that is to be saved.
async fn evaluate(
    app: &ContactState,
    workspace: WorkspaceId,
    targeting: &Targeting,
) -> Result<SegmentCount> {
    if let Some(fault) = fault(app.db(), workspace, targeting).await? {
        return Err(Error::Invalid(vec![fault]));
    }
    measure(app, workspace, targeting).await
}

/// Stores which segments a segment uses, and checks the rules for that.
async fn set_uses(tx: &mut PgConnection, workspace: WorkspaceId, segment: &Segment) -> Result<()> {
    let node = Node::of(segment.name.clone(), &segment.targeting);
    store::set_uses(tx, workspace, segment.id, &node.uses).await?;
    let graph = store::graph(tx, workspace).await?;
    match graph.fault(segment.id) {
        None => Ok(()),
        Some(fault) => Err(Error::invalid("targeting", fault)),
    }
}

/// Deletes a segment that nothing uses.
///
/// # Errors
/// Not found; a conflict that names the segments, campaigns and saved insights that use it.
pub async fn delete(
    app: &ContactState,
    workspace: WorkspaceId,
    actor: &str,
    id: SegmentId,
) -> Result<()> {
    let mut tx = app.db().begin().await?;
    store::lock(&mut tx, workspace).await?;
    // Waits for campaigns that are being saved with it, and makes later ones wait.
    if !store::lock_for_deletion(&mut tx, workspace, id).await? {
        return Err(NOT_FOUND);
    }
    let segments = store::using_segments(&mut tx, workspace, id).await?;
    let campaigns = store::using_campaigns(&mut tx, workspace, id).await?;
    let insights = store::using_insights(&mut tx, workspace, id).await?;
    let users: Vec<String> =
        [("segment", &segments), ("campaign", &campaigns), ("insight", &insights)]
            .into_iter()
            .filter_map(|(kind, users)| named(kind, users))
            .collect();
    if !users.is_empty() {
        let users = users.join(" and ");
        return Err(Error::Conflict(format!("The segment is in use by {users}")));
    }
    store::delete(&mut tx, workspace, id).await?;
    tx.commit().await?;
    tracing::info!(%workspace, segment = %id, actor, "segment deleted");
    Ok(())
}

/// The users of one kind with their names; none where there are none.
fn named(kind: &str, users: &Users) -> Option<String> {
    let names: Vec<String> = users.names.iter().map(|name| format!("\"{name}\"")).collect();
    let more = users.total.saturating_sub(names.len() as u64);
    match (names.len(), more) {
        (0, _) => None,
        (1, 0) => Some(format!("the {kind} {}", names[0])),
        (_, 0) => Some(format!("the {kind}s {}", names.join(", "))),
        (_, more) => Some(format!("the {kind}s {} and {more} more", names.join(", "))),
    }
}
