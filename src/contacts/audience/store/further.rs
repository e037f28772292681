//! Identifiers of profiles beside their own ids.

use std::collections::HashMap;

use analytics::events::PersonIds;
use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgExecutor;

use super::ids::user_id;

/// The ids that events of these profiles may carry: those of profiles that were merged into them, aliases, and
/// anonymous ids, which also name users as long as no profile has them as its id.
pub(crate) async fn identifiers(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, PersonIds>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query!(
        r#"select i.user_id as "user_id!", i.type as kind, i.id,
             (i.type <> 'anonymous' or i.names_users and not exists (
                 select from users u
                 where u.workspace_id = $1 and u.external_id = i.id
                     and (u.deleted_at is null or u.keeps_external_id))) as "names_users!"
         from unnest($2::bytea[]) as wish (id)
         join identity i on i.workspace_id = $1 and i.user_id = wish.id"#,
        workspace.uuid(),
        &ids as _,
    )
    .fetch_all(db)
    .await?;
    let mut found: HashMap<UserId, PersonIds> = HashMap::new();
    for row in rows {
        let ids = found.entry(user_id(&row.user_id)?).or_default();
        if row.names_users {
            ids.users.push(row.id.clone());
        }
        if row.kind == "anonymous" {
            ids.anonymous.push(row.id);
        }
    }
    Ok(found)
}
