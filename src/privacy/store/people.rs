//! The profile that a request names.

use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgPool;

use super::user_id;
use crate::model::PersonName;

/// A profile that a name may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) user: UserId,
    pub(crate) is_active: bool,
}

/// The profiles with a name, deleted ones included; of merged profiles the survivor. Each kind of profile has an index of its
/// own, so each is asked for by itself.
pub(crate) async fn named(
    db: &PgPool,
    workspace: WorkspaceId,
    name: &PersonName,
) -> Result<Vec<Candidate>> {
    let (mut internal, mut external, mut email) = (None, None, None);
    match name {
        PersonName::User(text) => match text.parse::<UserId>() {
            Ok(id) => internal = Some(id.bytes().to_vec()),
            Err(_) => return Ok(Vec::new()),
        },
        PersonName::External(text) => external = Some(text.as_str()),
        PersonName::Email(address) => email = Some(address.as_str()),
    }
    let rows = sqlx::query!(
        r#"with named as (
               select id, merged_into from users where workspace_id = $1 and id = $2
               union all
               select id, merged_into from users
               where workspace_id = $1 and external_id = $3 and (deleted_at is null or keeps_external_id)
               union all
               select id, merged_into from users
               where workspace_id = $1 and lower(external_id) = lower($3) and external_id = $3 and deleted_at is not null
               union all
               select id, merged_into from users where workspace_id = $1 and email = $4 and deleted_at is null
               union all
               select id, merged_into from users where workspace_id = $1 and email = $4 and deleted_at is not null
           )
           select distinct u.id, u.deleted_at is null as "is_active!"
           from named
           join users u on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id)
           limit 100"#,
        workspace.uuid(),
        internal,
        external,
        email,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| Ok(Candidate { user: user_id(&row.id)?, is_active: row.is_active }))
        .collect()
}
