//! What uses a segment: other segments, campaigns, and saved insights.

use std::collections::HashMap;

use audience::model::{NO_SUCH_SEGMENT, TargetingSize};
use kernel::{Error, Result, SegmentId, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;
use web::db::ResultExt as _;

use crate::model::graph::{Graph, Node};

/// Names of users in a refusal.
const NAMED_MAX: i64 = 10;

/// Replaces the uses of a segment.
///
/// # Errors
/// One for `targeting` where a used segment is gone.
pub(crate) async fn set_uses(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: SegmentId,
    uses: &HashMap<SegmentId, u64>,
) -> Result<()> {
    let used: Vec<Uuid> = uses.keys().map(|used| used.uuid()).collect();
    let times: Vec<i32> =
        uses.values().map(|times| i32::try_from(*times).unwrap_or(i32::MAX)).collect();
    sqlx::query!(
        "delete from segment_use where workspace_id = $1 and segment_id = $2",
        workspace.uuid(),
        id.uuid(),
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "insert into segment_use (workspace_id, segment_id, used_id, times)
         select $1, $2, used_id, times from unnest($3::uuid[], $4::integer[]) as uses (used_id, times)",
        workspace.uuid(),
        id.uuid(),
        &used,
        &times,
    )
    .execute(&mut *tx)
    .await
    .on_constraint("segment_use_of_known", || {
        Error::invalid("targeting", format!("each filter of type segment {NO_SUCH_SEGMENT}"))
    })?;
    Ok(())
}

/// The segments of a workspace and their uses.
pub(crate) async fn graph(tx: &mut PgConnection, workspace: WorkspaceId) -> Result<Graph> {
    let segments = sqlx::query!(
        "select id, name, filters, event_filters, listed_values from segment where workspace_id = $1",
        workspace.uuid(),
    )
    .fetch_all(&mut *tx)
    .await?;
    let size = |column: i32| u64::from(column.unsigned_abs());
    let mut graph = Graph::default();
    for row in segments {
        let size = TargetingSize {
            filters: size(row.filters),
            event_filters: size(row.event_filters),
            values: size(row.listed_values),
        };
        let node = Node { name: row.name, size, uses: HashMap::new() };
        graph.0.insert(SegmentId::new(row.id), node);
    }
    let uses = sqlx::query!(
        "select segment_id, used_id, times from segment_use where workspace_id = $1",
        workspace.uuid(),
    )
    .fetch_all(&mut *tx)
    .await?;
    for row in uses {
        if let Some(node) = graph.0.get_mut(&SegmentId::new(row.segment_id)) {
            node.uses.insert(SegmentId::new(row.used_id), size(row.times));
        }
    }
    Ok(graph)
}

/// Locks a segment against new uses; false where there is none.
pub(crate) async fn lock_for_deletion(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: SegmentId,
) -> Result<bool> {
    let row = sqlx::query!(
        "select id from segment where workspace_id = $1 and id = $2 for update",
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(tx)
    .await?;
    Ok(row.is_some())
}

/// The users of a segment: some names, and how many there are.
#[derive(Debug, Default)]
pub(crate) struct Users {
    pub(crate) names: Vec<String>,
    pub(crate) total: u64,
}

impl Users {
    fn of(total: Option<i64>, names: impl Iterator<Item = String>) -> Self {
        Self { names: names.collect(), total: total.unwrap_or_default().unsigned_abs() }
    }
}

/// The segments that use a segment, by name.
pub(crate) async fn using_segments(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: SegmentId,
) -> Result<Users> {
    let rows = sqlx::query!(
        r#"select s.name, count(*) over () as "total!"
           from segment_use u
           join segment s on s.workspace_id = $1 and s.id = u.segment_id
           where u.workspace_id = $1 and u.used_id = $2
           order by lower(s.name), s.id
           limit $3"#,
        workspace.uuid(),
        id.uuid(),
        NAMED_MAX,
    )
    .fetch_all(tx)
    .await?;
    let total = rows.first().map(|row| row.total);
    Ok(Users::of(total, rows.into_iter().map(|row| row.name)))
}

/// The campaigns that use a segment and have not ended, newest first. Of those that ended, a launch checks again
/// whether their segments exist.
pub(crate) async fn using_campaigns(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: SegmentId,
) -> Result<Users> {
    let rows = sqlx::query!(
        r#"select definition ->> 'name' as "name!", count(*) over () as "total!"
           from campaign
           where workspace_id = $1 and segment_ids @> array[$2] and segment_ids <> '{}'
               and status not in ('completed', 'cancelled', 'archived', 'failed')
           order by created_at desc, id desc
           limit $3"#,
        workspace.uuid(),
        id.to_string(),
        NAMED_MAX,
    )
    .fetch_all(tx)
    .await?;
    let total = rows.first().map(|row| row.total);
    Ok(Users::of(total, rows.into_iter().map(|row| row.name)))
}

/// The saved insights that ask about a segment, by name. Its id stands in their questions and nowhere by chance.
pub(crate) async fn using_insights(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: SegmentId,
) -> Result<Users> {
    let rows = sqlx::query!(
        r#"select name, count(*) over () as "total!"
           from insight
           where workspace_id = $1 and position($2 in lower(question::text)) > 0
           order by lower(name), id
           limit $3"#,
        workspace.uuid(),
        id.to_string(),
        NAMED_MAX,
    )
    .fetch_all(tx)
    .await?;
    let total = rows.first().map(|row| row.total);
    Ok(Users::of(total, rows.into_iter().map(|row| row.name)))
}
