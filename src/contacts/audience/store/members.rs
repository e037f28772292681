//! Profiles in a preview.

use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgConnection;

use crate::model::Member;

/// The profiles with these ids, in this order.
pub(crate) async fn in_order(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    ids: &[UserId],
) -> Result<Vec<Member>> {
    let bytes: Vec<Vec<u8>> = ids.iter().map(|id| id.bytes().to_vec()).collect();
    let rows = sqlx::query!(
        "select u.id, u.external_id, u.email, u.phone,
             case when jsonb_typeof(u.attributes -> 'firstName') = 'string'
                 then u.attributes ->> 'firstName' end as first_name,
             case when jsonb_typeof(u.attributes -> 'lastName') = 'string'
                 then u.attributes ->> 'lastName' end as last_name
         from unnest($2::bytea[]) with ordinality as wish (id, place)
         join users u on u.workspace_id = $1 and u.id = wish.id
         order by wish.place",
        workspace.uuid(),
        &bytes,
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Member {
                id: super::ids::user_id(&row.id)?,
                external_id: row.external_id,
                email: row.email,
                phone: row.phone,
                first_name: row.first_name,
                last_name: row.last_name,
            })
        })
        .collect()
}
