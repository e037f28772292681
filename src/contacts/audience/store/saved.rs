//! Targetings saved as segments.

use std::collections::HashMap;

use kernel::{Result, SegmentId, WorkspaceId};
use sqlx::{PgConnection, PgExecutor, PgPool, types::Json};
use uuid::Uuid;

use crate::model::{NamedTargeting, SEGMENTS_MAX, SavedTargetings, SegmentName, Targeting};

/// The targetings of these segments and of all that they use, themselves or through others. Unknown segments are
/// left out.
pub(crate) async fn with_used(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    segments: &[Uuid],
) -> Result<SavedTargetings> {
    let rows = sqlx::query!(
        r#"with recursive needed (id) as (
               select unnest($2::uuid[])
               union
               select u.used_id
               from needed n
               join segment_use u on u.workspace_id = $1 and u.segment_id = n.id
           )
           select s.id, s.targeting as "targeting: Json<Targeting>"
           from needed n
           join segment s on s.workspace_id = $1 and s.id = n.id"#,
        workspace.uuid(),
        segments,
    )
    .fetch_all(db)
    .await?;
    let targetings: HashMap<SegmentId, Targeting> =
        rows.into_iter().map(|row| (SegmentId::new(row.id), row.targeting.0)).collect();
    Ok(SavedTargetings::new(targetings))
}

/// Every segment of a workspace, by name.
pub(crate) async fn all(db: &PgPool, workspace: WorkspaceId) -> Result<Vec<NamedTargeting>> {
    let rows = sqlx::query!(
        r#"select id, name, targeting as "targeting: Json<Targeting>"
           from segment
           where workspace_id = $1
           order by lower(name), id
           limit $2"#,
        workspace.uuid(),
        SEGMENTS_MAX,
    )
    .fetch_all(db)
    .await?;
    let named = rows.into_iter().map(|row| NamedTargeting {
        segment: SegmentName { id: SegmentId::new(row.id), name: row.name },
        targeting: row.targeting.0,
    });
    Ok(named.collect())
}

/// Keeps segments from being deleted until the transaction ends, so that a campaign that is saved in it counts as a
/// use. Unknown ids are passed over.
pub(crate) async fn hold(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    ids: &[Uuid],
) -> Result<()> {
    sqlx::query!(
        "select id from segment where workspace_id = $1 and id = any($2) order by id for key share",
        workspace.uuid(),
        ids,
    )
    .fetch_all(tx)
    .await?;
    Ok(())
}
