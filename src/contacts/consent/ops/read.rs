//! What is known of a contact, read.

use kernel::{Channel, Error, Result, Tenant, UserId, WorkspaceId};
use sqlx::PgPool;

use crate::{
    consent::{
        model::{Channels, HistoryEntry, Membership},
        store::{channels, contacts, history, memberships},
    },
    suppressions::model::Identifier,
};

pub use crate::consent::store::contacts::NumberHolder;

/// Memberships in the answer about a whole contact.
const MEMBERSHIPS_FIRST: u32 = 500;

/// The organization around a workspace, for those who come by a link and not by a credential; none for a
/// workspace that is gone.
///
/// # Errors
/// When the store fails.
pub async fn tenant_of(db: &PgPool, workspace: WorkspaceId) -> Result<Option<Tenant>> {
    contacts::tenant(db, workspace).await
}

/// Contacts that have a phone number, in any organization, ordered; only those after the one given. What
/// somebody texts to a sender's number is said to everybody who writes from it.
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
    let after = after.map(|holder| (holder.tenant.workspace, holder.user));
    contacts::with_number(db, channel, number, after, limit).await
}

/// A contact's channels and its first 500 memberships.
///
/// # Errors
/// Not found for a contact that is not there.
pub async fn contact(
    db: &PgPool,
    tenant: Tenant,
    user: UserId,
) -> Result<(Channels, Vec<Membership>)> {
    must_exist(db, tenant.workspace, user).await?;
    let channels = channels::list(db, tenant.workspace, user).await?;
    let lists = memberships::list(db, tenant, user, Some(MEMBERSHIPS_FIRST)).await?;
    Ok((channels, lists))
}

/// A contact's memberships, all of them: at most five a list of the workspace.
///
/// # Errors
/// Not found for a contact that is not there.
pub async fn memberships(db: &PgPool, tenant: Tenant, user: UserId) -> Result<Vec<Membership>> {
    must_exist(db, tenant.workspace, user).await?;
    memberships::list(db, tenant, user, None).await
}

/// A page of a contact's history, newest first, and how long it is in all.
///
/// # Errors
/// Not found for a contact that is not there.
pub async fn history(
    db: &PgPool,
    tenant: Tenant,
    user: UserId,
    page: (u32, u64),
) -> Result<(Vec<HistoryEntry>, u64)> {
    must_exist(db, tenant.workspace, user).await?;
    history::list(db, tenant, user, page).await
}

/// Whether a contact is there and has not opted out of the channel.
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

/// Whether a contact is there and no hard bounce marked its address invalid.
///
/// # Errors
/// When the store fails.
pub async fn has_valid_email(db: &PgPool, workspace: WorkspaceId, user: UserId) -> Result<bool> {
    let check = channels::check(db, workspace, user, Channel::Email).await?;
    Ok(check.is_some_and(|check| check.valid))
}

async fn must_exist(db: &PgPool, workspace: WorkspaceId, user: UserId) -> Result<()> {
    let exists = contacts::exists(db, workspace, user).await?;
    if exists { Ok(()) } else { Err(Error::NotFound("Contact")) }
}
