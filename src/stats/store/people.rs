//! The profiles of identifiers in events, and the contact data of recipients.

use std::collections::{HashMap, HashSet};

use analytics::events::PersonIds;
use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgPool;

fn user_id(bytes: &[u8]) -> Result<UserId> {
    Ok(UserId::from_bytes(bytes.try_into().map_err(anyhow::Error::from)?))
}

/// The profiles with these external ids: the active one, else the one deleted last. Events stay bound to a
/// deleted profile until another gets its external id.
pub(crate) async fn of_external_ids(
    db: &PgPool,
    workspace: WorkspaceId,
    external_ids: &[String],
) -> Result<Vec<(String, UserId)>> {
    let mut found = active_of_external_ids(db, workspace, external_ids).await?;
    if found.len() == external_ids.len() {
        return Ok(found);
    }
    let active: HashSet<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    let others: Vec<String> =
        external_ids.iter().filter(|id| !active.contains(id.as_str())).cloned().collect();
    found.extend(deleted_of_external_ids(db, workspace, &others).await?);
    Ok(found)
}

/// The active profiles with these external ids.
pub(crate) async fn active_of_external_ids(
    db: &PgPool,
    workspace: WorkspaceId,
    external_ids: &[String],
) -> Result<Vec<(String, UserId)>> {
    let rows = sqlx::query!(
        r#"select external_id as "external_id!", id
           from users
           where workspace_id = $1 and external_id = any($2) and deleted_at is null"#,
        workspace.uuid(),
        external_ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| Ok((row.external_id, user_id(&row.id)?))).collect()
}

/// Of the deleted profiles with each of these external ids the one deleted last.
pub(crate) async fn deleted_of_external_ids(
    db: &PgPool,
    workspace: WorkspaceId,
    external_ids: &[String],
) -> Result<Vec<(String, UserId)>> {
    let rows = sqlx::query!(
        r#"select distinct on (external_id) external_id as "external_id!", id
           from users
           where workspace_id = $1
               and lower(external_id) in (select lower(wanted) from unnest($2::text[]) wanted)
               and external_id = any($2) and deleted_at is not null
           order by external_id, deleted_at desc"#,
        workspace.uuid(),
        external_ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| Ok((row.external_id, user_id(&row.id)?))).collect()
}

/// The ids that events of these deleted profiles may carry, besides their own internal ids. Others may have them by now.
pub(crate) async fn identifiers_of_deleted(
    db: &PgPool,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<PersonIds> {
    let ids: Vec<Vec<u8>> = users.iter().map(|id| id.bytes().to_vec()).collect();
    let rows = sqlx::query!(
        r#"select external_id as "id!", false as "is_anonymous!"
           from users
           where workspace_id = $1 and external_id is not null and (id = any($2) or merged_into = any($2))
           union
           select id, type = 'anonymous'
           from identity
           where workspace_id = $1 and user_id = any($2)"#,
        workspace.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    let mut found = PersonIds::default();
    for row in rows {
        if row.is_anonymous {
            found.anonymous.push(row.id.clone());
        }
        found.users.push(row.id);
    }
    Ok(found)
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ContactInfo {
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
}

/// The contact data of recipients, including deleted ones.
pub(crate) async fn contact_info(
    db: &PgPool,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<Vec<(UserId, ContactInfo)>> {
    let ids: Vec<Vec<u8>> = users.iter().map(|id| id.bytes().to_vec()).collect();
    let rows = sqlx::query!(
        "select id, external_id, email, phone
         from users
         where workspace_id = $1 and id = any($2)",
        workspace.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let contact_info =
                ContactInfo { external_id: row.external_id, email: row.email, phone: row.phone };
            Ok((user_id(&row.id)?, contact_info))
        })
        .collect()
}

/// The other profiles of the same person: those that were merged into it, and the one that it was merged into.
pub(crate) async fn merged(
    db: &PgPool,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, Vec<UserId>>> {
    let ids: Vec<Vec<u8>> = users.iter().map(|id| id.bytes().to_vec()).collect();
    let rows = sqlx::query!(
        r#"with asked as (
               select u.id, coalesce(u.merged_into, u.id) as survivor
               from users u
               where u.workspace_id = $1 and u.id = any($2)
           )
           select a.id, f.id as "other!"
           from asked a
           join users f on f.workspace_id = $1 and f.merged_into = a.survivor
           where f.id <> a.id
           union
           select id, survivor from asked where survivor <> id"#,
        workspace.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    let mut found: HashMap<UserId, Vec<UserId>> = HashMap::new();
    for row in rows {
        if let Some(id) = row.id {
            found.entry(user_id(&id)?).or_default().push(user_id(&row.other)?);
        }
    }
    Ok(found)
}

/// The profile that an internal id stands for.
pub(crate) async fn survivor(db: &PgPool, workspace: WorkspaceId, user: UserId) -> Result<UserId> {
    let found = sqlx::query_scalar!(
        r#"select survivor_of($1, $2) as "survivor!""#,
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_one(db)
    .await?;
    user_id(&found)
}
