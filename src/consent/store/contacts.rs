//! The contacts themselves: whether they are there, and where they can be reached.

use std::collections::HashMap;

use sqlx::{PgConnection, PgPool};

use crate::{
    kernel::{Channel, OrganizationId, Result, Tenant, UserId, WorkspaceId},
    suppressions::model::{Identifier, Ledger},
};

/// Where a contact can be reached, in the spelling of the ledgers.
#[derive(Debug, Clone, Default)]
pub(in crate::consent) struct Addresses {
    email: Option<String>,
    phone: Option<String>,
}

impl Addresses {
    /// What the channel's ledger knows the contact by.
    pub(in crate::consent) fn of(&self, channel: Channel) -> Option<(Ledger, Identifier)> {
        let ledger = Ledger::of(channel)?;
        let address = match ledger {
            Ledger::Email => self.email.clone()?,
            Ledger::Sms | Ledger::Whatsapp => self.phone.clone()?,
        };
        Some((ledger, Identifier::of_stored(address)))
    }
}

/// Locks contacts against other writers until the transaction ends; those that are not there, or were
/// deleted, are missing from the answer.
pub(in crate::consent) async fn lock(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, Addresses>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| &user.bytes()[..]).collect();
    let rows = sqlx::query!(
        // Joined, not `any($2)`: a plan that does not know the array would search all of it row by row.
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

/// Whether the contact is there.
pub(in crate::consent) async fn exists(
    db: &PgPool,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<bool> {
    let found = sqlx::query_scalar!(
        "select exists (
             select from users where workspace_id = $1 and id = $2 and deleted_at is null) as \"found!\"",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_one(db)
    .await?;
    Ok(found)
}

/// The workspace in its organization; none for a workspace that is gone.
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

/// Reads a stored id.
pub(in crate::consent) fn user_id(bytes: &[u8]) -> Result<UserId> {
    let bytes: [u8; 12] = bytes.try_into().map_err(anyhow::Error::from)?;
    Ok(UserId::from_bytes(bytes))
}
