//! Finds profiles by an identifier, its beginning, or a part of a name.
//!
//! Every branch of the query uses its own index and stops at [`MATCHES_MAX`], so the cost of a search does not
//! depend on the number of profiles or on how common the text is. A branch that stops returns arbitrary
//! matches. The scan of the profiles changed last makes sure that the latest ones are among them.

use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgPool;

use super::{Row, bytes_of, user_id};
use crate::users::model::{User, typed::Typed};

/// Most profiles that one search finds.
pub(in crate::users) const MATCHES_MAX: usize = 1000;
/// Profiles changed last that are scanned one by one.
const LATEST_MAX: i64 = 2000;
/// Matching profiles, best first.
pub(in crate::users) async fn search(
    db: &PgPool,
    workspace: WorkspaceId,
    typed: &Typed,
) -> Result<Vec<UserId>> {
    let mut tx = web::db::begin_by_index(db).await?;
    let rows = sqlx::query_file_scalar!(
        "users/store/search.sql",
        workspace.uuid(),
        typed.id.map(|id| id.bytes().to_vec()),
        typed.text,
        &typed.phones,
        typed.beginning,
        typed.phone_beginnings.first(),
        typed.in_name,
        typed.part,
        LATEST_MAX,
        i64::try_from(MATCHES_MAX).unwrap_or(i64::MAX),
        typed.phone_beginnings.get(1),
        typed.phone_beginnings.get(2),
    )
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    rows.iter().map(|id| user_id(id)).collect()
}

/// The active profiles among these, in this order.
pub(in crate::users) async fn in_order(
    db: &PgPool,
    workspace: WorkspaceId,
    ids: &[UserId],
) -> Result<Vec<User>> {
    let ids = bytes_of(ids.iter().copied());
    let rows = sqlx::query_as!(
        Row,
        r#"select u.id, u.external_id, u.email, u.phone, u.attributes::text as "attributes!",
             u.created_at, u.updated_at
         from unnest($2::bytea[]) with ordinality as wish (id, place)
         join users u on u.workspace_id = $1 and u.id = wish.id and u.deleted_at is null
         order by wish.place"#,
        workspace.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(User::try_from).collect()
}
