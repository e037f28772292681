//! Soft bounces and spam complaints that arrive after a message was sent, written into consent. They are part
//! of the caller's transaction; the caller counts the entries after the commit.

use std::borrow::Cow;

use kernel::{Channel, Result, UserId, WorkspaceId};
use sqlx::PgConnection;
use web::audit::{self, Action, Entry, Write};

use super::channels::states;
use crate::consent::{
    model::{BounceType, ChannelKey, ChannelStatus, Tenant},
    store::{channels, contacts},
};
use suppressions::{model::LedgerAddress, ops::deliverability};

/// The current address of a contact on a channel. `None` for a deleted contact, a contact without an address,
/// or a channel without a ledger.
///
/// # Errors
/// When the store fails.
pub async fn address_of(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
    channel: Channel,
) -> Result<Option<LedgerAddress>> {
    let mut locked = contacts::lock(&mut *tx, workspace, &[user]).await?;
    let current = locked.current(user);
    let Some(addresses) = locked.addresses.remove(&current) else { return Ok(None) };
    if current == user {
        return Ok(addresses.of(channel));
    }
    // A message to a merged contact went to the address that it had.
    Ok(contacts::of_merged(tx, workspace, user).await?.of(channel))
}

/// The result of a soft bounce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoftBounce {
    /// The history entry; `None` for a deleted contact.
    pub entry: Option<Entry>,
    /// Bounces since the address was last known to work, this one included.
    pub count: i32,
}

/// Records that a contact's mailbox refused a message temporarily. An address with a hard bounce stays invalid.
///
/// # Errors
/// When the store fails.
pub async fn soft_bounced(
    tx: &mut PgConnection,
    tenant: Tenant,
    write: &Write<'_>,
    user: UserId,
) -> Result<SoftBounce> {
    let channel = Channel::Email;
    let locked = contacts::lock(&mut *tx, tenant.workspace, &[user]).await?;
    let current = locked.current(user);
    let addresses = locked.addresses.get(&current).map(|addresses| addresses.of(channel));
    let is_current = match addresses {
        None => false,
        Some(_) if current == user => true,
        Some(address) => {
            let merged = contacts::of_merged(&mut *tx, tenant.workspace, user).await?;
            merged.of(channel) == address
        }
    };
    if !is_current {
        return Ok(SoftBounce { entry: None, count: 0 });
    }
    let user = current;
    let (mut state, _) = states(&mut *tx, tenant, user, channel).await?;
    state.bounce.count = state.bounce.count.saturating_add(1);
    state.bounce.last_at = Some(write.now);
    if state.bounce.is_valid {
        state.bounce.kind = Some(BounceType::Soft);
    }
    channels::save(&mut *tx, tenant.workspace, write.now, ChannelKey { user, channel }, &state)
        .await?;
    let status = state.status.map(|status| Cow::Borrowed(status.as_str()));
    let entry = Entry {
        user,
        channel,
        list: None,
        action: Action::SoftBounce,
        previous: status.clone(),
        new: status,
    };
    audit::append(tx, tenant.workspace, write, std::slice::from_ref(&entry)).await?;
    Ok(SoftBounce { entry: Some(entry), count: state.bounce.count })
}

/// A spam complaint about a message.
#[derive(Debug, Clone, Copy)]
pub struct Complaint<'a> {
    pub channel: Channel,
    /// The recipient, if it is known.
    pub user: Option<UserId>,
    /// The address that complained, if it is known.
    pub address: Option<&'a LedgerAddress>,
}

/// Records a spam complaint: the ledger gets a row, and the recipient and every contact with the address are
/// opted out of the channel.
///
/// # Errors
/// When the store fails.
pub async fn complained(
    tx: &mut PgConnection,
    tenant: Tenant,
    write: &Write<'_>,
    complaint: Complaint<'_>,
) -> Result<Vec<Entry>> {
    let Complaint { channel, user, address } = complaint;
    let workspace = tenant.workspace;
    let mut users: Vec<UserId> = user.into_iter().collect();
    if let Some(address) = address {
        users.extend(contacts::having(&mut *tx, workspace, address).await?);
    }
    // The recipient is opted out even if its address has changed since the message was sent.
    let locked = contacts::lock(&mut *tx, workspace, &users).await?;
    let mut entries = Vec::with_capacity(locked.addresses.len());
    for user in locked.addresses.into_keys() {
        let (mut state, _) = states(&mut *tx, tenant, user, channel).await?;
        let previous = state.status;
        state.set(write.now, ChannelStatus::Unsubscribed, &write.origin.source, None);
        channels::save(&mut *tx, workspace, write.now, ChannelKey { user, channel }, &state)
            .await?;
        entries.push(Entry {
            user,
            channel,
            list: None,
            action: Action::Complaint,
            previous: previous.map(|status| status.as_str().into()),
            new: Some(ChannelStatus::Unsubscribed.as_str().into()),
        });
    }
    audit::append(&mut *tx, workspace, write, &entries).await?;
    if let Some(address) = address {
        deliverability::complaint(tx, workspace, write, address).await?;
    }
    Ok(entries)
}
