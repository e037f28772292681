//! The present state of profiles.

use std::collections::BTreeSet;

use analytics::people::PersonRow;
use chrono::{DateTime, Utc};
use futures_util::{Stream, StreamExt as _};
use kernel::{Error, Result};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{millis, user_id};
use crate::model::{ProfileKey, TypedAttributes, readable};

struct Row {
    workspace_id: Uuid,
    id: Vec<u8>,
    is_active: bool,
    external_id: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    attributes: Option<String>,
    created_at: Option<DateTime<Utc>>,
    updated_at: Option<DateTime<Utc>>,
    channels: Option<Vec<String>>,
    statuses: Option<Vec<String>>,
    lists: Option<Vec<Uuid>>,
    anonymous_ids: Option<Vec<String>>,
}

impl Row {
    /// The copy of this version; of a profile that is not active, its key alone.
    fn copy(self, version: u64) -> Result<PersonRow> {
        let (workspace_id, user_id) = (self.workspace_id, user_id(&self.id)?);
        if !self.is_active {
            return Ok(PersonRow {
                workspace_id,
                user_id,
                version,
                is_deleted: 1,
                ..PersonRow::default()
            });
        }
        let attributes = self.attributes.unwrap_or_default();
        let typed = TypedAttributes::read(&attributes);
        let channels = self.channels.unwrap_or_default();
        Ok(PersonRow {
            workspace_id,
            user_id,
            version,
            is_deleted: 0,
            external_id: self.external_id.unwrap_or_default(),
            email: self.email.unwrap_or_default(),
            phone: self.phone.unwrap_or_default(),
            anonymous_ids: self.anonymous_ids.unwrap_or_default(),
            attributes: readable(attributes),
            numbers: typed.numbers,
            texts: typed.texts,
            created_at: millis(self.created_at),
            updated_at: millis(self.updated_at),
            consent: channels.into_iter().zip(self.statuses.unwrap_or_default()).collect(),
            lists: self.lists.unwrap_or_default(),
        })
    }
}

/// The copies of these profiles as they are now, in the order of their keys. One statement, so one state of all tables.
pub(crate) fn copies<'c>(
    tx: &'c mut PgConnection,
    version: u64,
    people: &BTreeSet<ProfileKey>,
) -> impl Stream<Item = Result<PersonRow>> + Send + 'c {
    let workspaces: Vec<Uuid> = people.iter().map(|key| key.workspace).collect();
    let users: Vec<Vec<u8>> = people.iter().map(|key| key.user.to_vec()).collect();
    // Joined by workspace and profile alone: with more conditions the planner may take an index that has those, as of
    // active profiles by their last change, and read all of it for each profile.
    sqlx::query_as!(
        Row,
        r#"select wish.workspace_id as "workspace_id!", wish.id as "id!",
             (u.id is not null and u.deleted_at is null) as "is_active!", u.external_id as "external_id?",
             u.email as "email?", u.phone as "phone?", u.attributes::text as "attributes?",
             u.created_at as "created_at?", u.updated_at as "updated_at?",
             consent.channels as "channels?", consent.statuses as "statuses?",
             membership.lists as "lists?", linked.anonymous_ids as "anonymous_ids?"
           from unnest($1::uuid[], $2::bytea[]) as wish (workspace_id, id)
           left join users u on u.workspace_id = wish.workspace_id and u.id = wish.id
           left join lateral (
               select array_agg(c.channel) filter (where c.status is not null) as channels,
                 array_agg(c.status) filter (where c.status is not null) as statuses
               from channel_consent c
               where c.workspace_id = u.workspace_id and c.user_id = u.id
           ) consent on true
           left join lateral (
               select array_agg(distinct m.list_id order by m.list_id) filter (where m.status = 'subscribed') as lists
               from list_membership m
               where m.workspace_id = u.workspace_id and m.user_id = u.id
           ) membership on true
           left join lateral (
               select array_agg(i.id order by i.id collate "C") filter (where i.type = 'anonymous') as anonymous_ids
               from identity i
               where i.workspace_id = u.workspace_id and i.user_id = u.id
           ) linked on true"#,
        &workspaces,
        &users,
    )
    .fetch(tx)
    .map(move |row| row.map_err(Error::from)?.copy(version))
}
