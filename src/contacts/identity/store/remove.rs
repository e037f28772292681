//! Takes identifiers from a profile.

use std::collections::HashMap;

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgConnection;

use crate::model::{IdentifierType, Removal};

/// Where in a list of ids those are that a profile cannot lose: its own, and those of profiles that were merged into it.
pub(crate) async fn own(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
    ids: &[String],
) -> Result<Vec<usize>> {
    let places = sqlx::query_scalar!(
        r#"select wish.place as "place!"
           from unnest($3::text[]) with ordinality as wish (id, place)
           where wish.id = encode($2::bytea, 'hex')
               or exists (select from users u
                   where u.workspace_id = $1 and u.id = $2 and u.external_id = wish.id)
               or exists (select from identity i
                   where i.workspace_id = $1 and i.type in ('external', 'internal') and i.id = wish.id
                       and i.user_id = $2)
           order by wish.place"#,
        workspace.uuid(),
        &user.bytes()[..],
        ids,
    )
    .fetch_all(tx)
    .await?;
    Ok(places.into_iter().filter_map(|place| usize::try_from(place - 1).ok()).collect())
}

/// An identifier that was taken from a profile.
#[derive(Debug)]
pub(crate) struct Freed {
    pub(crate) kind: IdentifierType,
    pub(crate) id: String,
}

/// Takes anonymous ids and aliases from a locked profile. The rows stay, without a profile: so ClickHouse learns of it, and a
/// later link has a larger version. `linked_at` is then when it was removed.
pub(crate) async fn free(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
    removal: &Removal,
    at: Timestamp,
) -> Result<Vec<Freed>> {
    let ids = match removal {
        Removal::Ids(ids) => Some(ids.as_slice()),
        Removal::LinkedBySdkKeys => None,
    };
    let rows = sqlx::query!(
        "update identity
         set user_id = null, linked_at = $4, version = default
         where workspace_id = $1 and user_id = $2 and type in ('anonymous', 'alias')
             and case when $3::text[] is null then is_public else id = any($3) end
         returning type as kind, id",
        workspace.uuid(),
        &user.bytes()[..],
        ids as _,
        at.utc(),
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter()
        .map(|row| {
            let kind = IdentifierType::named(&row.kind);
            let kind = kind.ok_or_else(|| Error::internal("an identifier of no known type"))?;
            Ok(Freed { kind, id: row.id })
        })
        .collect()
}

/// Leaves the external ids that were aliases of a locked profile to new profiles.
pub(crate) async fn unname(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
    aliases: &[String],
) -> Result<()> {
    sqlx::query!(
        "update users
         set external_id = null, keeps_external_id = false
         where workspace_id = $1 and merged_into = $2 and external_id = any($3)",
        workspace.uuid(),
        &user.bytes()[..],
        aliases,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// When those of these anonymous ids were removed that are of no profile since.
pub(crate) async fn removed_at(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    anonymous_ids: &[&str],
) -> Result<HashMap<String, Timestamp>> {
    let rows = sqlx::query!(
        "select id, linked_at
         from identity
         where workspace_id = $1 and type = 'anonymous' and id = any($2) and user_id is null",
        workspace.uuid(),
        anonymous_ids as _,
    )
    .fetch_all(tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.linked_at.into())).collect())
}
