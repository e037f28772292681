//! Rows of lists.

use chrono::{DateTime, Utc};
use kernel::{Channel, Error, ListId, Result, Timestamp, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;
use web::db::ResultExt as _;

use crate::lists::model::{LISTS_MAX, List, ListKind, ListPatch, NewList};

/// The unique index on names.
const NAME_UNIQUE: &str = "subscription_list_name_unique";

struct Row {
    id: Uuid,
    name: String,
    description: String,
    channels: Vec<String>,
    is_public: bool,
    kind: String,
    require_double_opt_in: bool,
    is_default: bool,
    display_order: i32,
    sender_id: Option<String>,
    archived_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl TryFrom<Row> for List {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        let channels: Result<Vec<Channel>, _> =
            row.channels.iter().map(|channel| channel.parse()).collect();
        let kind =
            ListKind::NAMED.iter().find(|(name, _)| *name == row.kind).map(|(_, kind)| *kind);
        Ok(Self {
            id: ListId::new(row.id),
            name: row.name,
            description: row.description,
            channels: channels.map_err(Error::internal)?,
            is_public: row.is_public,
            kind: kind.ok_or_else(|| Error::internal("a list of no known type"))?,
            require_double_opt_in: row.require_double_opt_in,
            is_default: row.is_default,
            display_order: row.display_order,
            sender_id: row.sender_id,
            archived_at: row.archived_at.map(Timestamp::from),
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        })
    }
}

fn taken(name: &str) -> Error {
    Error::Conflict(format!("A list named \"{name}\" already exists"))
}

fn texts(channels: &[Channel]) -> Vec<String> {
    channels.iter().map(|channel| channel.as_str().to_owned()).collect()
}

/// Inserts a list at the last position of the preference page.
///
/// # Errors
/// A conflict when an active list has the name.
pub(in crate::lists) async fn create(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    new: &NewList,
) -> Result<List> {
    // One at a time in a workspace, so that no two lists get the same position. This lock does not block rows that
    // only reference the workspace.
    sqlx::query!("select id from workspace where id = $1 for no key update", workspace.uuid())
        .fetch_one(&mut *tx)
        .await?;
    let row = sqlx::query_as!(
        Row,
        r#"insert into subscription_list
             (workspace_id, id, name, description, channels, is_public, type, require_double_opt_in,
              display_order, created_at, updated_at)
           select $1, $2, $3, $4, $5, $6, $7, $8, coalesce(max(display_order), 0) + 1, $9, $9
           from subscription_list
           where workspace_id = $1
           returning id, name, description, channels, is_public, type as kind, require_double_opt_in,
               is_default, display_order, sender_id, archived_at, created_at, updated_at"#,
        workspace.uuid(),
        ListId::mint(now).uuid(),
        new.name,
        new.description,
        &texts(&new.channels),
        new.is_public,
        new.kind.as_str(),
        new.require_double_opt_in,
        now.utc(),
    )
    .fetch_one(tx)
    .await
    .on_constraint(NAME_UNIQUE, || taken(&new.name))?;
    row.try_into()
}

/// A list, archived or not.
pub(in crate::lists) async fn find(
    db: &PgPool,
    workspace: WorkspaceId,
    id: ListId,
) -> Result<Option<List>> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, name, description, channels, is_public, type as kind, require_double_opt_in,
               is_default, display_order, sender_id, archived_at, created_at, updated_at
           from subscription_list
           where workspace_id = $1 and id = $2"#,
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(List::try_from).transpose()
}

pub(in crate::lists) async fn list(
    db: &PgPool,
    workspace: WorkspaceId,
    include_archived: bool,
) -> Result<Vec<List>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, name, description, channels, is_public, type as kind, require_double_opt_in,
               is_default, display_order, sender_id, archived_at, created_at, updated_at
           from subscription_list
           where workspace_id = $1 and (archived_at is null or $2)
           order by created_at desc, display_order desc, id desc
           limit $3"#,
        workspace.uuid(),
        include_archived,
        LISTS_MAX,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(List::try_from).collect()
}

/// Changes an active list.
///
/// # Errors
/// A conflict when another active list has the name.
pub(in crate::lists) async fn update(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: ListId,
    now: Timestamp,
    patch: &ListPatch,
) -> Result<Option<List>> {
    let channels = patch.channels.as_deref().map(texts);
    let row = sqlx::query_as!(
        Row,
        r#"update subscription_list
           set name = coalesce($3, name),
               description = coalesce($4, description),
               channels = coalesce($5, channels),
               is_public = coalesce($6, is_public),
               type = coalesce($7, type),
               require_double_opt_in = coalesce($8, require_double_opt_in),
               updated_at = $9
           where workspace_id = $1 and id = $2 and archived_at is null
           returning id, name, description, channels, is_public, type as kind, require_double_opt_in,
               is_default, display_order, sender_id, archived_at, created_at, updated_at"#,
        workspace.uuid(),
        id.uuid(),
        patch.name,
        patch.description,
        channels.as_deref(),
        patch.is_public,
        patch.kind.map(ListKind::as_str),
        patch.require_double_opt_in,
        now.utc(),
    )
    .fetch_optional(tx)
    .await
    .on_constraint(NAME_UNIQUE, || taken(patch.name.as_deref().unwrap_or_default()))?;
    row.map(List::try_from).transpose()
}

/// Archives an active list that is not the default one. Returns whether there was one.
pub(in crate::lists) async fn archive(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    id: ListId,
    now: Timestamp,
) -> Result<bool> {
    let done = sqlx::query!(
        "update subscription_list set archived_at = $3, updated_at = $3
         where workspace_id = $1 and id = $2 and archived_at is null and not is_default",
        workspace.uuid(),
        id.uuid(),
        now.utc(),
    )
    .execute(tx)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Makes an archived list active again; none if it is active.
///
/// # Errors
/// A conflict when an active list has taken the name.
pub(in crate::lists) async fn restore(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    list: &List,
    now: Timestamp,
) -> Result<Option<List>> {
    let row = sqlx::query_as!(
        Row,
        r#"update subscription_list set archived_at = null, updated_at = $3
           where workspace_id = $1 and id = $2 and archived_at is not null
           returning id, name, description, channels, is_public, type as kind, require_double_opt_in,
               is_default, display_order, sender_id, archived_at, created_at, updated_at"#,
        workspace.uuid(),
        list.id.uuid(),
        now.utc(),
    )
    .fetch_optional(tx)
    .await
    .on_constraint(NAME_UNIQUE, || taken(&list.name))?;
    row.map(List::try_from).transpose()
}
