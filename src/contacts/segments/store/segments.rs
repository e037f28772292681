//! Rows of segments. Those who create, change or delete one lock the workspace first, so that limits hold and no two
//! changes make a cycle together.

use audience::model::{SEGMENTS_MAX, Targeting, TargetingSize};
use chrono::{DateTime, Utc};
use kernel::{Error, Result, SegmentId, Timestamp, WorkspaceId, page::PageWindow};
use sqlx::{PgConnection, PgExecutor, PgPool, types::Json};
use uuid::Uuid;
use web::db::ResultExt as _;

use crate::model::{Segment, SegmentPatch, TARGETING_BYTES_MAX};

/// The unique index on names.
const NAME_UNIQUE: &str = "segment_name_unique";

struct Row {
    id: Uuid,
    name: String,
    description: String,
    targeting: Json<Targeting>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl From<Row> for Segment {
    fn from(row: Row) -> Self {
        Self {
            id: SegmentId::new(row.id),
            name: row.name,
            description: row.description,
            targeting: row.targeting.0,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

fn taken(name: &str) -> Error {
    Error::Conflict(format!("A segment named \"{name}\" already exists"))
}

/// Locks the segments of a workspace for one writer. Rows that only reference the workspace are not blocked.
pub(crate) async fn lock(tx: &mut PgConnection, workspace: WorkspaceId) -> Result<()> {
    sqlx::query!("select id from workspace where id = $1 for no key update", workspace.uuid())
        .fetch_one(tx)
        .await?;
    Ok(())
}

/// Checks the limits of a workspace, after a write.
///
/// # Errors
/// Bad request where there are more segments, or more bytes in their targetings, than allowed.
pub(crate) async fn check_limits(tx: &mut PgConnection, workspace: WorkspaceId) -> Result<()> {
    let all = sqlx::query!(
        r#"select count(*) as "count!", coalesce(sum(bytes), 0)::bigint as "bytes!"
           from segment
           where workspace_id = $1"#,
        workspace.uuid(),
    )
    .fetch_one(tx)
    .await?;
    if all.count > SEGMENTS_MAX {
        let message = format!("A workspace has at most {SEGMENTS_MAX} segments");
        return Err(Error::bad_request(message));
    }
    if all.bytes > TARGETING_BYTES_MAX {
        return Err(Error::bad_request(format!(
            "The targetings of a workspace's segments have at most {TARGETING_BYTES_MAX} bytes in all, received {}",
            all.bytes
        )));
    }
    Ok(())
}

fn column(size: u64) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}

/// # Errors
/// A conflict when a segment has the name.
pub(crate) async fn insert(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    actor: &str,
    new: &Segment,
) -> Result<()> {
    let TargetingSize { filters, event_filters, values } = TargetingSize::of(&new.targeting);
    sqlx::query!(
        "insert into segment
             (workspace_id, id, name, description, targeting, filters, event_filters, listed_values, created_by,
              updated_by, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $10)",
        workspace.uuid(),
        new.id.uuid(),
        new.name,
        new.description,
        Json(&new.targeting) as _,
        column(filters),
        column(event_filters),
        column(values),
        actor,
        new.created_at.utc(),
    )
    .execute(tx)
    .await
    .on_constraint(NAME_UNIQUE, || taken(&new.name))?;
    Ok(())
}

/// Changes a segment; `None` where there is none.
///
/// # Errors
/// A conflict when another segment has the name.
pub(crate) async fn update(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: SegmentId,
    write: Write<'_>,
    patch: &SegmentPatch,
) -> Result<Option<Segment>> {
    let size = patch.targeting.as_ref().map(TargetingSize::of);
    let row = sqlx::query_as!(
        Row,
        r#"update segment
           set name = coalesce($3, name),
               description = coalesce($4, description),
               targeting = coalesce($5, targeting),
               filters = coalesce($6, filters),
               event_filters = coalesce($7, event_filters),
               listed_values = coalesce($8, listed_values),
               updated_by = $9,
               updated_at = $10
           where workspace_id = $1 and id = $2
           returning id, name, description, targeting as "targeting: _", created_at, updated_at"#,
        workspace.uuid(),
        id.uuid(),
        patch.name,
        patch.description,
        patch.targeting.as_ref().map(Json) as _,
        size.map(|size| column(size.filters)),
        size.map(|size| column(size.event_filters)),
        size.map(|size| column(size.values)),
        write.actor,
        write.now.utc(),
    )
    .fetch_optional(tx)
    .await
    .on_constraint(NAME_UNIQUE, || taken(patch.name.as_deref().unwrap_or_default()))?;
    Ok(row.map(Segment::from))
}

/// Who changes a segment, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write<'a> {
    pub(crate) actor: &'a str,
    pub(crate) now: Timestamp,
}

pub(crate) async fn find(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: SegmentId,
) -> Result<Option<Segment>> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, name, description, targeting as "targeting: _", created_at, updated_at
           from segment
           where workspace_id = $1 and id = $2"#,
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(Segment::from))
}

/// A page of segments, newest first.
pub(crate) async fn page(
    db: &PgPool,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<Vec<Segment>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, name, description, targeting as "targeting: _", created_at, updated_at
           from segment
           where workspace_id = $1
           order by created_at desc, id desc
           limit $2 offset $3"#,
        workspace.uuid(),
        window.limit(),
        window.offset(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Segment::from).collect())
}

pub(crate) async fn count(db: &PgPool, workspace: WorkspaceId) -> Result<u64> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from segment where workspace_id = $1"#,
        workspace.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(count.unsigned_abs())
}

/// Deletes a segment that nothing uses any more.
pub(crate) async fn delete(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: SegmentId,
) -> Result<()> {
    sqlx::query!(
        "delete from segment where workspace_id = $1 and id = $2",
        workspace.uuid(),
        id.uuid(),
    )
    .execute(tx)
    .await?;
    Ok(())
}
