//! Rows of memberships.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use kernel::{Error, ListId, Result, Tenant, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::{channels::channel, contacts::user_id};
use crate::consent::model::{ListState, Membership, MembershipKey, MembershipStatus};

struct Stored {
    id: Uuid,
    list_id: Uuid,
    user_id: Vec<u8>,
    channel: String,
    status: String,
    subscribed_at: Option<DateTime<Utc>>,
    opt_in_source: Option<String>,
    consent_text: Option<String>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl Stored {
    fn membership(self, tenant: Tenant) -> Result<Membership> {
        let status = MembershipStatus::named(&self.status);
        Ok(Membership {
            id: self.id,
            organization_id: tenant.organization,
            workspace_id: tenant.workspace,
            contact_id: user_id(&self.user_id)?,
            list_id: ListId::new(self.list_id),
            channel: channel(&self.channel)?,
            status: status.ok_or_else(|| Error::internal("a membership of an unknown status"))?,
            subscribed_at: self.subscribed_at.map(Timestamp::from),
            opt_in_source: self.opt_in_source,
            consent_text: self.consent_text,
            created_at: self.created_at.into(),
            updated_at: self.updated_at.into(),
        })
    }
}

/// The existing lists among these ids.
pub(in crate::consent) async fn lists(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    lists: &[ListId],
) -> Result<HashMap<ListId, ListState>> {
    let ids: Vec<Uuid> = lists.iter().map(|list| list.uuid()).collect();
    let rows = sqlx::query!(
        "select id, archived_at is not null as \"archived!\", require_double_opt_in
         from subscription_list
         where workspace_id = $1 and id = any($2)",
        workspace.uuid(),
        &ids,
    )
    .fetch_all(connection)
    .await?;
    let state = |archived, require_double_opt_in| ListState { archived, require_double_opt_in };
    Ok(rows
        .into_iter()
        .map(|row| (ListId::new(row.id), state(row.archived, row.require_double_opt_in)))
        .collect())
}

/// The existing memberships among these keys.
pub(in crate::consent) async fn find(
    connection: &mut PgConnection,
    tenant: Tenant,
    keys: &[MembershipKey],
) -> Result<HashMap<MembershipKey, Membership>> {
    let (users, lists, channels) = columns(keys);
    let rows = sqlx::query_as!(
        Stored,
        // `is not distinct from` cannot use an index, which makes the planner start from the contact's few rows. With
        // the list's index it would read all members for each key: 10,000 times 10,000 rows.
        "select m.id, m.list_id, m.user_id, m.channel, m.status, m.subscribed_at, m.opt_in_source,
                m.consent_text, m.created_at, m.updated_at
         from unnest($2::bytea[], $3::uuid[], $4::text[]) as k (user_id, list_id, channel)
         join list_membership m on m.workspace_id = $1 and m.user_id = k.user_id
         where m.list_id is not distinct from k.list_id and m.channel is not distinct from k.channel",
        tenant.workspace.uuid(),
        &users as _,
        &lists as _,
        &channels as _,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| row.membership(tenant).map(|membership| (membership.key(), membership)))
        .collect()
}

/// A contact's memberships, oldest first; all of them without a limit.
pub(in crate::consent) async fn list(
    db: &PgPool,
    tenant: Tenant,
    user: UserId,
    limit: Option<u32>,
) -> Result<Vec<Membership>> {
    let rows = sqlx::query_as!(
        Stored,
        "select id, list_id, user_id, channel, status, subscribed_at, opt_in_source, consent_text,
                created_at, updated_at
         from list_membership
         where workspace_id = $1 and user_id = $2
         order by created_at, id
         limit $3",
        tenant.workspace.uuid(),
        &user.bytes()[..],
        limit.map(i64::from),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| row.membership(tenant)).collect()
}

/// Inserts rows or updates existing ones.
pub(in crate::consent) async fn save(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    rows: &[Membership],
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let keys: Vec<MembershipKey> = rows.iter().map(Membership::key).collect();
    let (users, lists, channels) = columns(&keys);
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let statuses: Vec<&str> = rows.iter().map(|row| row.status.as_str()).collect();
    let subscribed: Vec<_> = rows.iter().map(|row| row.subscribed_at.map(Timestamp::utc)).collect();
    let sources: Vec<_> = rows.iter().map(|row| row.opt_in_source.as_deref()).collect();
    let texts: Vec<_> = rows.iter().map(|row| row.consent_text.as_deref()).collect();
    let created: Vec<_> = rows.iter().map(|row| row.created_at.utc()).collect();
    let updated: Vec<_> = rows.iter().map(|row| row.updated_at.utc()).collect();
    sqlx::query!(
        "insert into list_membership
             (workspace_id, id, user_id, list_id, channel, status, subscribed_at, opt_in_source,
              consent_text, created_at, updated_at)
         select $1, m.*
         from unnest($2::uuid[], $3::bytea[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[],
                     $8::text[], $9::text[], $10::timestamptz[], $11::timestamptz[]) as m
         on conflict (workspace_id, user_id, list_id, channel) do update
         set status = excluded.status,
             subscribed_at = excluded.subscribed_at,
             opt_in_source = excluded.opt_in_source,
             consent_text = excluded.consent_text,
             updated_at = excluded.updated_at",
        workspace.uuid(),
        &ids,
        &users as _,
        &lists as _,
        &channels as _,
        &statuses as _,
        &subscribed as _,
        &sources as _,
        &texts as _,
        &created,
        &updated,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Column arrays for `unnest`.
pub(super) fn columns(keys: &[MembershipKey]) -> (Vec<&[u8]>, Vec<Uuid>, Vec<&'static str>) {
    let users = keys.iter().map(|key| &key.user.bytes()[..]).collect();
    let lists = keys.iter().map(|key| key.list.uuid()).collect();
    let channels = keys.iter().map(|key| key.channel.as_str()).collect();
    (users, lists, channels)
}
