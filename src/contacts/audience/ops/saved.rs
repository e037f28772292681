//! The saved targetings of segments that other targetings use.

use std::collections::BTreeSet;

use kernel::{Error, FieldError, Result, SegmentId, WorkspaceId};
use sqlx::{PgConnection, PgExecutor, PgPool};
use uuid::Uuid;

use crate::{
    model::{NO_SUCH_SEGMENT, SavedTargetings, SegmentUse, Targeting},
    store::saved,
};

/// The segments that these targetings use themselves, each once, in the order of their ids.
fn used_by(targetings: &[&Targeting]) -> Vec<Uuid> {
    let used = targetings.iter().flat_map(|targeting| targeting.segments());
    let used: BTreeSet<Uuid> = used.map(SegmentId::uuid).collect();
    used.into_iter().collect()
}

/// The saved targetings that these use, themselves or through others.
///
/// # Errors
/// Bad request when a targeting with its segments is too large.
pub async fn saved_targetings(
    db: &PgPool,
    workspace: WorkspaceId,
    targetings: &[&Targeting],
) -> Result<SavedTargetings> {
    let used = used_by(targetings);
    if used.is_empty() {
        return Ok(SavedTargetings::default());
    }
    let saved = saved::with_used(db, workspace, &used).await?;
    for targeting in targetings {
        saved
            .check(targeting)
            .map_err(|problem| Error::bad_request(format!("targeting {problem}")))?;
    }
    Ok(saved)
}

/// Why a targeting cannot be sent to: it uses a segment that does not exist, or is too large with its segments.
///
/// # Errors
/// If the store fails.
pub async fn fault(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    targeting: &Targeting,
) -> Result<Option<FieldError>> {
    let uses = targeting.segment_uses();
    if uses.is_empty() {
        return Ok(None);
    }
    let used: Vec<Uuid> = uses.iter().filter_map(|it| it.segment).map(SegmentId::uuid).collect();
    let saved = saved::with_used(db, workspace, &used).await?;
    let is_known = |it: &SegmentUse| it.segment.is_some_and(|id| saved.get(id).is_some());
    if let Some(unknown) = uses.iter().find(|it| !is_known(it)) {
        let path = format!("targeting.{}", unknown.path);
        return Ok(Some(FieldError::new(path, NO_SUCH_SEGMENT)));
    }
    Ok(saved.check(targeting).err().map(|problem| FieldError::new("targeting", problem)))
}

/// Keeps the segments of these targetings from being deleted until the transaction ends.
///
/// # Errors
/// If the store fails.
pub async fn hold_segments(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    targetings: &[&Targeting],
) -> Result<()> {
    let used = used_by(targetings);
    if used.is_empty() {
        return Ok(());
    }
    saved::hold(tx, workspace, &used).await
}
