//! Reads of a contact's consent.

use kernel::{Channel, Error, Result, Tenant, UserId, WorkspaceId};
use sqlx::PgPool;

use crate::consent::{
    model::{Channels, HistoryEntry, Membership},
    store::{channels, contacts, history, memberships},
};
use kernel::page::PageWindow;
use suppressions::model::Identifier;

pub use crate::consent::store::contacts::NumberHolder;

/// Memberships in the answer about a whole contact.
const MEMBERSHIPS_FIRST: u32 = 500;

/// The tenant of a workspace, for requests that come by a link and not with a credential. `None` for a deleted
/// workspace.
///
/// # Errors
/// When the store fails.
pub async fn tenant_of(db: &PgPool, workspace: WorkspaceId) -> Result<Option<Tenant>> {
    contacts::tenant(db, workspace).await
}

/// A page of contacts with a phone number, in any organization, in order, after the given contact. A text
/// message to a sender's number (such as STOP) applies to every workspace that sends from it.
///
/// # Errors
/// When the store fails.
pub async fn with_number(
    db: &PgPool,
    channel: Channel,
    number: &Identifier,
    after: Option<NumberHolder>,
    limit: u32,
) -> Result<Vec<NumberHolder>> {
    contacts::with_number(db, channel, number, after, limit).await
}

/// A contact's channels and its first 500 memberships.
///
/// # Errors
/// Not found for an unknown contact.
pub async fn contact(
    db: &PgPool,
    tenant: Tenant,
    user: UserId,
) -> Result<(Channels, Vec<Membership>)> {
    let user = current(db, tenant.workspace, user).await?;
    let channels = channels::list(db, tenant.workspace, user).await?;
    let lists = memberships::list(db, tenant, user, Some(MEMBERSHIPS_FIRST)).await?;
    Ok((channels, lists))
}

/// All memberships of a contact: at most five for each list of the workspace.
///
/// # Errors
/// Not found for an unknown contact.
pub async fn memberships(db: &PgPool, tenant: Tenant, user: UserId) -> Result<Vec<Membership>> {
    let user = current(db, tenant.workspace, user).await?;
    memberships::list(db, tenant, user, None).await
}

/// A page of a contact's history, newest first, and its total length.
///
/// # Errors
/// Not found for an unknown contact.
pub async fn history(
    db: &PgPool,
    tenant: Tenant,
    user: UserId,
    page: PageWindow,
) -> Result<(Vec<HistoryEntry>, u64)> {
    let user = current(db, tenant.workspace, user).await?;
    history::list(db, tenant, user, page).await
}

/// Whether a contact exists and has not opted out of the channel.
///
/// # Errors
/// When the store fails.
pub async fn is_subscribed(
    db: &PgPool,
    workspace: WorkspaceId,
    user: UserId,
    channel: Channel,
) -> Result<bool> {
    let check = channels::check(db, workspace, user, channel).await?;
    Ok(check.is_some_and(|check| check.subscribed))
}

/// Whether a contact exists and no hard bounce marked its address invalid.
///
/// # Errors
/// When the store fails.
pub async fn has_valid_email(db: &PgPool, workspace: WorkspaceId, user: UserId) -> Result<bool> {
    let check = channels::check(db, workspace, user, Channel::Email).await?;
    Ok(check.is_some_and(|check| check.valid))
}

/// The contact that an id stands for.
async fn current(db: &PgPool, workspace: WorkspaceId, user: UserId) -> Result<UserId> {
    contacts::current(db, workspace, user).await?.ok_or(Error::NotFound("Contact"))
}
