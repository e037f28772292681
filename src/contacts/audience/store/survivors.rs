//! Profiles into which others were merged.

use std::collections::HashMap;

use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgConnection;

use super::ids::{bytes_of, user_id};

/// The profiles into which others were merged, by the ids of those.
#[derive(Debug, Default)]
pub(crate) struct Survivors {
    by_external: HashMap<String, UserId>,
    by_internal: HashMap<UserId, UserId>,
}

impl Survivors {
    /// The profiles for which an id, internal or external, stands since a merge.
    pub(crate) fn of(&self, id: &str) -> impl Iterator<Item = UserId> {
        let internal = id.parse().ok().and_then(|id: UserId| self.by_internal.get(&id));
        self.by_external.get(id).into_iter().chain(internal).copied()
    }
}

struct Merged {
    id: Vec<u8>,
    /// Where the profile into which it was merged answers to it.
    external_id: Option<String>,
    survivor: Vec<u8>,
}

impl Survivors {
    fn new(rows: Vec<Merged>) -> Result<Self> {
        let mut found = Self::default();
        for row in rows {
            let survivor = user_id(&row.survivor)?;
            found.by_internal.insert(user_id(&row.id)?, survivor);
            if let Some(external_id) = row.external_id {
                found.by_external.insert(external_id, survivor);
            }
        }
        Ok(found)
    }
}

/// The profiles into which those of these ids were merged.
pub(crate) async fn survivors(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    ids: &[String],
) -> Result<Survivors> {
    let internal: Vec<UserId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    let rows = sqlx::query_as!(
        Merged,
        r#"select id as "id!", external_id, merged_into as "survivor!" from users
           where workspace_id = $1 and external_id = any($2) and keeps_external_id
           union
           select id, case when keeps_external_id then external_id end, merged_into from users
           where workspace_id = $1 and id = any($3) and merged_into is not null"#,
        workspace.uuid(),
        ids,
        &bytes_of(&internal),
    )
    .fetch_all(tx)
    .await?;
    Survivors::new(rows)
}

/// These profiles as survivors of all that were merged into them.
pub(crate) async fn merged_into(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    profiles: &[UserId],
) -> Result<Survivors> {
    let rows = sqlx::query_as!(
        Merged,
        r#"select id, case when keeps_external_id then external_id end as external_id,
             merged_into as "survivor!"
           from users
           where workspace_id = $1 and merged_into = any($2) and merged_into is not null"#,
        workspace.uuid(),
        &bytes_of(profiles),
    )
    .fetch_all(tx)
    .await?;
    Survivors::new(rows)
}
