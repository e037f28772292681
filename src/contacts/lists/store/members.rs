//! Members of lists. Memberships of deleted contacts are stored and never read.

use chrono::{DateTime, Utc};
use kernel::{Channel, Error, ListId, Result, Tenant, Timestamp, UserId, WorkspaceId};
use sqlx::PgPool;
use uuid::Uuid;

use crate::{
    consent::model::{Membership, MembershipStatus},
    lists::model::{MemberFilter, Stats},
};

struct Row {
    id: Uuid,
    user_id: Vec<u8>,
    channel: String,
    status: String,
    subscribed_at: Option<DateTime<Utc>>,
    opt_in_source: Option<String>,
    consent_text: Option<String>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl Row {
    fn membership(self, tenant: Tenant, list_id: ListId) -> Result<Membership> {
        let user: [u8; 12] = self.user_id.as_slice().try_into().map_err(anyhow::Error::from)?;
        let status = MembershipStatus::named(&self.status);
        Ok(Membership {
            id: self.id,
            organization_id: tenant.organization,
            workspace_id: tenant.workspace,
            contact_id: UserId::from_bytes(user),
            list_id,
            channel: self.channel.parse().map_err(Error::internal)?,
            status: status.ok_or_else(|| Error::internal("a membership of an unknown status"))?,
            subscribed_at: self.subscribed_at.map(Timestamp::from),
            opt_in_source: self.opt_in_source,
            consent_text: self.consent_text,
            created_at: self.created_at.into(),
            updated_at: self.updated_at.into(),
        })
    }
}

/// A page of a list's memberships, newest first, and their total number.
pub(in crate::lists) async fn members(
    db: &PgPool,
    tenant: Tenant,
    list: ListId,
    filter: &MemberFilter,
) -> Result<(Vec<Membership>, i64)> {
    let workspace = tenant.workspace.uuid();
    let (channel, status) =
        (filter.channel.map(Channel::as_str), filter.status.map(MembershipStatus::as_str));
    let total = sqlx::query_scalar!(
        r#"select count(*) as "total!"
           from list_membership m
           join users u on u.workspace_id = m.workspace_id and u.id = m.user_id and u.deleted_at is null
           where m.workspace_id = $1 and m.list_id = $2
               and ($3::text is null or m.channel = $3) and ($4::text is null or m.status = $4)"#,
        workspace,
        list.uuid(),
        channel,
        status,
    )
    .fetch_one(db)
    .await?;
    let rows = sqlx::query_as!(
        Row,
        "select m.id, m.user_id, m.channel, m.status, m.subscribed_at, m.opt_in_source,
             m.consent_text, m.created_at, m.updated_at
         from list_membership m
         join users u on u.workspace_id = m.workspace_id and u.id = m.user_id and u.deleted_at is null
         where m.workspace_id = $1 and m.list_id = $2
             and ($3::text is null or m.channel = $3) and ($4::text is null or m.status = $4)
         order by m.created_at desc, m.id desc
         limit $5 offset $6",
        workspace,
        list.uuid(),
        channel,
        status,
        i64::from(filter.limit),
        i64::try_from(filter.offset).unwrap_or(i64::MAX),
    )
    .fetch_all(db)
    .await?;
    let members: Result<_> = rows.into_iter().map(|row| row.membership(tenant, list)).collect();
    Ok((members?, total))
}

/// Counts the memberships of a list.
pub(in crate::lists) async fn stats(
    db: &PgPool,
    workspace: WorkspaceId,
    list: ListId,
) -> Result<Stats> {
    let rows = sqlx::query!(
        r#"select m.channel,
               count(*) filter (where m.status = 'subscribed') as "subscribed!",
               count(*) filter (where m.status = 'unsubscribed') as "unsubscribed!"
           from list_membership m
           join users u on u.workspace_id = m.workspace_id and u.id = m.user_id and u.deleted_at is null
           where m.workspace_id = $1 and m.list_id = $2
           group by m.channel"#,
        workspace.uuid(),
        list.uuid(),
    )
    .fetch_all(db)
    .await?;
    let mut stats = Stats::default();
    for row in rows {
        let channel: Channel = row.channel.parse().map_err(Error::internal)?;
        for (named, count) in Channel::ALL.iter().zip(&mut stats.by_channel) {
            if *named == channel {
                *count = row.subscribed;
            }
        }
        stats.subscribed += row.subscribed;
        stats.unsubscribed += row.unsubscribed;
    }
    Ok(stats)
}
