//! Changes of one channel of a contact, and what follows from changes of its addresses.

use std::borrow::Cow;

use kernel::{Channel, Error, Result, Timestamp, UserId};
use sqlx::{PgConnection, PgPool};
use web::{
    audit::{self, Action, Entry, Write},
    db,
};

use super::memberships::opt_in_reach;
use crate::consent::{
    model::{
        AddressChange, Bounce, ChannelKey, ChannelState, ChannelStatus, Channels, Origin, Tenant,
    },
    store::{channels, contacts, pending_channels},
};
use suppressions::{
    model::{LedgerAddress, OptOut},
    ops::{
        deliverability,
        mirror::{self, OptIn},
    },
};

/// A new status for one channel of a contact.
#[derive(Debug, Clone)]
pub struct ChannelChange {
    pub user: UserId,
    pub channel: Channel,
    pub status: ChannelStatus,
    /// The text that the contact consented to.
    pub consent_text: Option<String>,
    pub reason: Option<String>,
}

/// Sets one channel and returns all channels of the contact.
///
/// # Errors
/// Not found for an unknown contact.
pub async fn set_channel(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    change: &ChannelChange,
) -> Result<Channels> {
    let (channels, entry) = db::retried(|| set_once(db, now, tenant, origin, change)).await?;
    audit::count(&[entry]);
    Ok(channels)
}

async fn set_once(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    change: &ChannelChange,
) -> Result<(Channels, Entry)> {
    let mut tx = db.begin().await?;
    let turned = set_channel_within(&mut tx, now, tenant, origin, change).await?;
    tx.commit().await?;
    Ok(turned)
}

/// Like [`set_channel`], within the caller's transaction. The caller counts the entry after the commit.
///
/// # Errors
/// Not found for an unknown contact.
pub async fn set_channel_within(
    tx: &mut PgConnection,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    change: &ChannelChange,
) -> Result<(Channels, Entry)> {
    let ChannelChange { channel, status, .. } = *change;
    let mut locked = contacts::lock(&mut *tx, tenant.workspace, &[change.user]).await?;
    let user = locked.current(change.user);
    let addresses = locked.addresses.remove(&user).ok_or(Error::NotFound("Contact"))?;
    let (mut state, mut all) = states(&mut *tx, tenant, user, channel).await?;
    let previous = state.status;
    let text = change.consent_text.as_deref();
    let action = state.set(now, status, &origin.source, text);
    channels::save(&mut *tx, tenant.workspace, now, ChannelKey { user, channel }, &state).await?;
    // The latest change wins over a pending confirmation.
    pending_channels::settle(&mut *tx, tenant.workspace, user, channel).await?;
    let entry = Entry {
        user,
        channel,
        list: None,
        action,
        previous: previous.map(|status| status.as_str().into()),
        new: Some(status.as_str().into()),
    };
    let write = Write { now, origin, consent_text: text, reason: change.reason.as_deref() };
    audit::append(&mut *tx, tenant.workspace, &write, std::slice::from_ref(&entry)).await?;
    // Also when the status was set already, so that the ledger agrees with the latest change.
    if let Some(address) = addresses.of(channel) {
        if status.is_opt_in() {
            let reach = opt_in_reach(&origin.source);
            let opt_in = OptIn { origin, reach, address: &address };
            mirror::opt_in(&mut *tx, tenant, opt_in).await?;
        } else {
            let LedgerAddress { ledger, identifier } = address;
            let (source, actor) = (origin.source.clone(), Some(origin.actor.clone()));
            let opt_out = OptOut { ledger, identifier, source, actor };
            mirror::opt_out(&mut *tx, now, tenant, &[opt_out]).await?;
        }
    }
    all.put(channel, state);
    Ok((all, entry))
}

/// The state of one channel, and of all channels.
pub(super) async fn states(
    connection: &mut PgConnection,
    tenant: Tenant,
    user: UserId,
    channel: Channel,
) -> Result<(ChannelState, Channels)> {
    let mut state = ChannelState::NONE;
    let mut all = Channels::default();
    for (known, found) in channels::find(connection, tenant.workspace, user).await? {
        if known == channel {
            state = found.clone();
        }
        all.put(known, found);
    }
    Ok((state, all))
}

/// An operator's statement that a contact's address works again.
#[derive(Debug, Clone)]
pub struct BounceCleared {
    pub user: UserId,
    pub reason: Option<String>,
}

/// Clears a contact's bounces, and deletes the `hard_bounce` and `complaint` rows of its address from the
/// workspace's ledger.
///
/// # Errors
/// Not found for an unknown contact.
pub async fn clear_bounce(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    cleared: &BounceCleared,
) -> Result<()> {
    let entry = db::retried(|| clear_once(db, now, tenant, origin, cleared)).await?;
    audit::count(&[entry]);
    Ok(())
}

async fn clear_once(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    cleared: &BounceCleared,
) -> Result<Entry> {
    let channel = Channel::Email;
    let mut tx = db.begin().await?;
    let mut locked = contacts::lock(&mut tx, tenant.workspace, &[cleared.user]).await?;
    let user = locked.current(cleared.user);
    let addresses = locked.addresses.remove(&user).ok_or(Error::NotFound("Contact"))?;
    let (mut state, _) = states(&mut tx, tenant, user, channel).await?;
    if state.bounce != Bounce::NONE {
        state.bounce = Bounce::NONE;
        channels::save(&mut tx, tenant.workspace, now, ChannelKey { user, channel }, &state)
            .await?;
    }
    let status = state.status.map(|status| Cow::Borrowed(status.as_str()));
    let entry = Entry {
        user,
        channel,
        list: None,
        action: Action::ApiUpdate,
        previous: status.clone(),
        new: status,
    };
    let write = Write { reason: cleared.reason.as_deref(), ..Write::of(now, origin) };
    audit::append(&mut tx, tenant.workspace, &write, std::slice::from_ref(&entry)).await?;
    if let Some(address) = addresses.of(channel) {
        deliverability::forget(&mut tx, tenant.workspace, origin, &address.identifier).await?;
    }
    tx.commit().await?;
    Ok(entry)
}

/// Updates consent for changed addresses, in the transaction that changed them and after the change. Bounces of
/// the old address are cleared, unless the new one has a hard bounce as well. Opt-outs of the contact are
/// mirrored for the new address.
///
/// # Errors
/// When the store fails.
pub async fn addresses_changed(
    tx: &mut PgConnection,
    now: Timestamp,
    tenant: Tenant,
    changes: &[AddressChange],
) -> Result<()> {
    let moved = changes.iter().filter(|change| change.email);
    let moved: Vec<UserId> = moved.map(|change| change.user).collect();
    if !moved.is_empty() {
        channels::forget_bounces(&mut *tx, tenant.workspace, now, &moved).await?;
        addresses_created(&mut *tx, now, tenant, &moved).await?;
    }
    if changes.is_empty() {
        return Ok(());
    }
    let opt_outs = channels::opt_outs(&mut *tx, tenant.workspace, changes).await?;
    mirror::opt_out(tx, now, tenant, &opt_outs).await
}

/// Updates consent for the addresses of new contacts, in the transaction that created them: an address with a
/// hard bounce stays invalid for a new contact.
///
/// # Errors
/// When the store fails.
pub async fn addresses_created(
    tx: &mut PgConnection,
    now: Timestamp,
    tenant: Tenant,
    users: &[UserId],
) -> Result<()> {
    channels::mark_bounced(tx, tenant.workspace, now, users).await
}
