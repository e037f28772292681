//! Contacts: whether they exist, and their addresses.

use std::collections::{HashMap, HashSet};

use kernel::{
    Channel, Error, OrganizationId, Result, Tenant, UserId, WorkspaceId, store::StoreFault,
};
use sqlx::{Connection as _, PgConnection, PgPool};

use suppressions::model::{Identifier, Ledger, LedgerAddress};

/// Looks for contacts and their survivors. Each one that is overtaken means that a merge is done.
const LOOKS_MAX: usize = 20;

/// The addresses of a contact, as the ledgers spell them.
#[derive(Debug, Clone, Default)]
pub(in crate::consent) struct Addresses {
    email: Option<String>,
    phone: Option<String>,
}

impl Addresses {
    /// The identifier of the contact in the channel's ledger.
    pub(in crate::consent) fn of(&self, channel: Channel) -> Option<LedgerAddress> {
        let ledger = Ledger::of(channel)?;
        let address = match ledger {
            Ledger::Email => self.email.clone()?,
            Ledger::Sms | Ledger::Whatsapp => self.phone.clone()?,
        };
        Some(LedgerAddress { ledger, identifier: Identifier::of_stored(address) })
    }
}

/// A contact with a phone number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberHolder {
    pub tenant: Tenant,
    pub user: UserId,
    /// Whether the contact or the number is opted out of the channel.
    pub is_opted_out: bool,
}

/// Contacts that are locked until the transaction ends.
#[derive(Debug, Default)]
pub(in crate::consent) struct LockedContacts {
    /// The addresses of each; unknown and deleted contacts are missing.
    pub(in crate::consent) addresses: HashMap<UserId, Addresses>,
    /// The survivors of those that were merged.
    survivors: HashMap<UserId, UserId>,
}

impl LockedContacts {
    /// The contact that an id stands for: the survivor of a merged one.
    pub(in crate::consent) fn current(&self, user: UserId) -> UserId {
        self.survivors.get(&user).copied().unwrap_or(user)
    }

    /// Notes the survivors of contacts, which may be survivors of others.
    fn follow(&mut self, merged: HashMap<UserId, UserId>) {
        for survivor in self.survivors.values_mut() {
            *survivor = merged.get(survivor).copied().unwrap_or(*survivor);
        }
        self.survivors.extend(merged);
    }
}

/// Locks contacts, or the survivors of those that were merged, in the order of their ids. A contact may be merged while its
/// lock is awaited, and its survivor may have a lower id: then all locks are given up first.
///
/// # Errors
/// A lost race where others merged these contacts all the while.
pub(in crate::consent) async fn lock(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<LockedContacts> {
    let mut locked = LockedContacts::default();
    for _ in 0..LOOKS_MAX {
        let wanted: HashSet<UserId> = users.iter().map(|user| locked.current(*user)).collect();
        let wanted: Vec<UserId> = wanted.into_iter().collect();
        let mut look = connection.begin().await?;
        locked.addresses = lock_active(&mut look, workspace, &wanted).await?;
        let missing: Vec<UserId> =
            wanted.into_iter().filter(|user| !locked.addresses.contains_key(user)).collect();
        let merged = if missing.is_empty() {
            HashMap::new()
        } else {
            survivors(&mut look, workspace, &missing).await?
        };
        if merged.is_empty() {
            look.commit().await?;
            return Ok(locked);
        }
        look.rollback().await?;
        locked.follow(merged);
    }
    let cause = anyhow::anyhow!("contacts were merged while their locks were awaited");
    Err(Error::Store(StoreFault::LostRace(cause)))
}

/// The survivors of those of these contacts that were merged.
async fn survivors(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, UserId>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| &user.bytes()[..]).collect();
    let rows = sqlx::query!(
        r#"select u.id, u.merged_into as "survivor!"
         from unnest($2::bytea[]) as k (id)
         join users u on u.workspace_id = $1 and u.id = k.id
         where u.merged_into is not null"#,
        workspace.uuid(),
        &ids as _,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| Ok((user_id(&row.id)?, user_id(&row.survivor)?))).collect()
}

async fn lock_active(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, Addresses>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| &user.bytes()[..]).collect();
    let rows = sqlx::query!(
        // A join, not `any($2)`: a plan that does not know the array's length would scan all of it for each row.
        "select u.id, u.email, u.phone_normal
         from unnest($2::bytea[]) as k (id)
         join users u on u.workspace_id = $1 and u.id = k.id
         where u.deleted_at is null
         order by u.id
         for no key update of u",
        workspace.uuid(),
        &ids as _,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let addresses = Addresses { email: row.email, phone: row.phone_normal };
            Ok((user_id(&row.id)?, addresses))
        })
        .collect()
}

/// The addresses that a merged contact had, which may be others than its survivor's.
pub(in crate::consent) async fn of_merged(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Addresses> {
    let row = sqlx::query!(
        "select email, phone_normal from users where workspace_id = $1 and id = $2",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_one(connection)
    .await?;
    Ok(Addresses { email: row.email, phone: row.phone_normal })
}

/// The contact that an id stands for, if it exists.
pub(in crate::consent) async fn current(
    db: &PgPool,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Option<UserId>> {
    let found = sqlx::query_scalar!(
        "select id from users
         where workspace_id = $1 and id = survivor_of($1, $2) and deleted_at is null",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_optional(db)
    .await?;
    found.map(|id| user_id(&id)).transpose()
}

/// The tenant of a workspace; `None` for a deleted workspace.
pub(in crate::consent) async fn tenant(
    db: &PgPool,
    workspace: WorkspaceId,
) -> Result<Option<Tenant>> {
    let organization = sqlx::query_scalar!(
        "select organization_id from workspace where id = $1",
        workspace.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(organization.map(|id| Tenant { organization: OrganizationId::new(id), workspace }))
}

pub(in crate::consent) fn user_id(bytes: &[u8]) -> Result<UserId> {
    let bytes: [u8; 12] = bytes.try_into().map_err(anyhow::Error::from)?;
    Ok(UserId::from_bytes(bytes))
}

/// Contacts with an address or number.
pub(in crate::consent) async fn having(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    address: &LedgerAddress,
) -> Result<Vec<UserId>> {
    let LedgerAddress { ledger, identifier } = address;
    let ids = match ledger {
        Ledger::Email => sqlx::query_scalar!(
            "select id from users where workspace_id = $1 and email = $2 and deleted_at is null",
            workspace.uuid(),
            identifier.as_str(),
        )
        .fetch_all(connection)
        .await?,
        Ledger::Sms | Ledger::Whatsapp => {
            sqlx::query_scalar!(
                "select id from users
                 where workspace_id = $1 and phone_normal = $2 and deleted_at is null",
                workspace.uuid(),
                identifier.as_str(),
            )
            .fetch_all(connection)
            .await?
        }
    };
    ids.iter().map(|id| user_id(id)).collect()
}

/// A page of contacts with a phone number, in any organization, in order, after the given contact.
pub(in crate::consent) async fn with_number(
    db: &PgPool,
    channel: Channel,
    number: &Identifier,
    after: Option<NumberHolder>,
    limit: u32,
) -> Result<Vec<NumberHolder>> {
    let (workspace, user) = after.map_or((uuid::Uuid::nil(), vec![]), |last| {
        (last.tenant.workspace.uuid(), last.user.bytes().to_vec())
    });
    // Each workspace takes one index lookup: there is no index over all of them.
    let rows = sqlx::query!(
        "select w.organization_id, w.id as workspace_id, u.id,
                (coalesce(c.status = 'unsubscribed', false) or exists (
                    select from suppression s
                    where s.workspace_id = w.id and s.channel = $2 and s.identifier = $1
                        and s.scope = 'global' and s.reason in ('unsubscribe', 'manual'))
                ) as \"is_opted_out!\"
         from workspace w
         join users u on u.workspace_id = w.id and u.phone_normal = $1 and u.deleted_at is null
         left join channel_consent c
             on c.workspace_id = w.id and c.user_id = u.id and c.channel = $2
         where (w.id, u.id) > ($3, $4)
         order by w.id, u.id
         limit $5",
        number.as_str(),
        channel.as_str(),
        workspace,
        &user,
        i64::from(limit),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let tenant = Tenant {
                organization: OrganizationId::new(row.organization_id),
                workspace: WorkspaceId::new(row.workspace_id),
            };
            let user = user_id(&row.id)?;
            Ok(NumberHolder { tenant, user, is_opted_out: row.is_opted_out })
        })
        .collect()
}
