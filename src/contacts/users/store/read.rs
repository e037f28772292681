//! Reading active profiles.

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use kernel::{Result, UserId, WorkspaceId};
use sqlx::{PgExecutor, PgPool};
use uuid::Uuid;

use super::Row;
use crate::users::model::{ProfileRecord, User};

/// A page of records ends with the one that reaches so many bytes.
const RECORD_BYTES: usize = 4 << 20;

/// The active profile with this internal id, or into which the one with this id was merged.
pub(in crate::users) async fn by_id(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<Option<User>> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, external_id, email, phone, attributes::text as "attributes!", created_at, updated_at
         from users
         where workspace_id = $1 and id = survivor_of($1, $2) and deleted_at is null"#,
        workspace.uuid(),
        &id.bytes()[..],
    )
    .fetch_optional(db)
    .await?;
    row.map(User::try_from).transpose()
}

/// The active profile with this external id, or into which the one with this id was merged.
pub(in crate::users) async fn by_external_id(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    external_id: &str,
) -> Result<Option<User>> {
    let row = sqlx::query_as!(
        Row,
        r#"select u.id, u.external_id, u.email, u.phone, u.attributes::text as "attributes!", u.created_at,
             u.updated_at
         from users named
         join users u on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id)
         where named.workspace_id = $1 and named.external_id = $2
             and (named.deleted_at is null or named.keeps_external_id) and u.deleted_at is null"#,
        workspace.uuid(),
        external_id,
    )
    .fetch_optional(db)
    .await?;
    row.map(User::try_from).transpose()
}

/// The internal id of the active profile that this external id, otherwise this internal id, stands for.
pub(in crate::users) async fn id_of(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    text: &str,
) -> Result<Option<UserId>> {
    let internal = text.parse::<UserId>().ok().map(|id| id.bytes().to_vec());
    let id = sqlx::query_scalar!(
        "select u.id
         from users named
         join users u on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id)
         where named.workspace_id = $1 and u.deleted_at is null
             and (named.external_id = $2 and (named.deleted_at is null or named.keeps_external_id)
                 or named.id = $3)
         order by named.external_id = $2 desc nulls last
         limit 1",
        workspace.uuid(),
        text,
        internal,
    )
    .fetch_optional(db)
    .await?;
    id.map(|id| super::user_id(&id)).transpose()
}

/// A page of active profiles, latest change first.
pub(in crate::users) async fn page(
    db: &PgPool,
    workspace: WorkspaceId,
    limit: u32,
    offset: u64,
) -> Result<Vec<User>> {
    // The page is found in the index alone; only its rows are read from the table.
    let rows = sqlx::query_as!(
        Row,
        r#"select u.id, u.external_id, u.email, u.phone, u.attributes::text as "attributes!",
             u.created_at, u.updated_at
         from (
             select id
             from users
             where workspace_id = $1 and deleted_at is null
             order by updated_at desc, id desc
             limit $2 offset $3
         ) page
         join users u on u.workspace_id = $1 and u.id = page.id
         order by u.updated_at desc, u.id desc"#,
        workspace.uuid(),
        i64::from(limit),
        i64::try_from(offset).unwrap_or(i64::MAX),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(User::try_from).collect()
}

/// How many active profiles there are.
pub(in crate::users) async fn count(db: &PgPool, workspace: WorkspaceId) -> Result<u64> {
    let count = sqlx::query_scalar!(
        r#"select coalesce(sum(active), 0)::bigint as "count!" from user_tally where workspace_id = $1"#,
        workspace.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(count.unsigned_abs())
}

struct RecordRow {
    id: Vec<u8>,
    external_id: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    attributes: String,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    channels: Option<Vec<String>>,
    statuses: Option<Vec<String>>,
    lists: Option<Vec<Uuid>>,
    anonymous_ids: Option<Vec<String>>,
}

impl RecordRow {
    /// Its size, about: what has no small limit.
    fn bytes(&self) -> usize {
        let linked = self.anonymous_ids.as_deref().unwrap_or_default();
        self.attributes.len() + linked.iter().map(String::len).sum::<usize>()
    }

    fn record(self) -> Result<ProfileRecord> {
        let Self { id, external_id, email, phone, attributes, created_at, updated_at, .. } = self;
        let row = Row { id, external_id, email, phone, attributes, created_at, updated_at };
        let channels = self.channels.unwrap_or_default();
        Ok(ProfileRecord {
            user: row.try_into()?,
            anonymous_ids: self.anonymous_ids.unwrap_or_default(),
            consent: channels.into_iter().zip(self.statuses.unwrap_or_default()).collect(),
            lists: self.lists.unwrap_or_default(),
        })
    }
}

/// The active profiles after this one, in the order of their ids: so many, or [`RECORD_BYTES`] of them.
pub(in crate::users) async fn records(
    db: &PgPool,
    workspace: WorkspaceId,
    after: Option<UserId>,
    limit: u32,
) -> Result<Vec<ProfileRecord>> {
    // Nothing comes before the empty id.
    let after = after.map(|id| id.bytes().to_vec()).unwrap_or_default();
    let mut tx = web::db::begin_by_index(db).await?;
    let rows = sqlx::query_as!(
        RecordRow,
        r#"select u.id, u.external_id, u.email, u.phone, u.attributes::text as "attributes!", u.created_at,
             u.updated_at, consent.channels as "channels?", consent.statuses as "statuses?",
             membership.lists as "lists?", linked.anonymous_ids as "anonymous_ids?"
           from (
               select id
               from users
               where workspace_id = $1 and id > $2 and deleted_at is null
               order by id
               limit $3
           ) page
           join users u on u.workspace_id = $1 and u.id = page.id
           left join lateral (
               select array_agg(c.channel) filter (where c.status is not null) as channels,
                 array_agg(c.status) filter (where c.status is not null) as statuses
               from channel_consent c
               where c.workspace_id = $1 and c.user_id = page.id
           ) consent on true
           left join lateral (
               select array_agg(distinct m.list_id order by m.list_id) filter (where m.status = 'subscribed') as lists
               from list_membership m
               where m.workspace_id = $1 and m.user_id = page.id
           ) membership on true
           left join lateral (
               select array_agg(i.id order by i.id collate "C") filter (where i.type = 'anonymous') as anonymous_ids
               from identity i
               where i.workspace_id = $1 and i.user_id = page.id
           ) linked on true
           order by page.id"#,
        workspace.uuid(),
        after,
        i64::from(limit),
    );
    let (mut page, mut bytes) = (Vec::new(), 0);
    {
        let mut rows = rows.fetch(&mut *tx);
        while bytes < RECORD_BYTES
            && let Some(row) = rows.try_next().await?
        {
            bytes += row.bytes();
            page.push(row.record()?);
        }
    }
    tx.commit().await?;
    Ok(page)
}
