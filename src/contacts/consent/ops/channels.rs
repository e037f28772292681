//! Changes of one channel of a contact, and of the addresses behind channels.

use std::borrow::Cow;

use kernel::{Channel, Error, Result, Timestamp, UserId};
use sqlx::{PgConnection, PgPool};
use web::{
    audit::{self, Action, Entry, Write},
    db,
};

use super::memberships::reach_of;
use crate::{
    consent::{
        model::{AddressChange, Bounce, ChannelState, ChannelStatus, Channels, Origin, Tenant},
        store::{channels, contacts, pending_channels},
    },
    suppressions::{
        model::OptOut,
        ops::{deliverability, mirror},
    },
};

/// A status for one channel of a contact.
#[derive(Debug, Clone)]
pub struct ChannelChange {
    pub user: UserId,
    pub channel: Channel,
    /// What the contact says.
    pub status: ChannelStatus,
    /// The words consented to.
    pub consent_text: Option<String>,
    pub reason: Option<String>,
}

/// Sets one channel, and gives all channels of the contact as they are then.
///
/// # Errors
/// Not found for a contact that is not there.
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
    let turned = turn_channel(&mut tx, now, tenant, origin, change).await?;
    tx.commit().await?;
    Ok(turned)
}

/// Like [`set_channel`] within a caller's transaction; the entry is to be counted once it is committed.
///
/// # Errors
/// Not found for a contact that is not there.
pub async fn turn_channel(
    tx: &mut PgConnection,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    change: &ChannelChange,
) -> Result<(Channels, Entry)> {
    let ChannelChange { user, channel, status, .. } = *change;
    let mut locked = contacts::lock(&mut *tx, tenant.workspace, &[user]).await?;
    let addresses = locked.remove(&user).ok_or(Error::NotFound("Contact"))?;
    let (mut state, mut all) = states(&mut *tx, tenant, user, channel).await?;
    let previous = state.status;
    let text = change.consent_text.as_deref();
    let action = state.set(now, status, &origin.source, text);
    channels::save(&mut *tx, tenant.workspace, now, (user, channel), &state).await?;
    // Whatever was said last holds: what waited for a confirmation does so no more.
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
    // Also for a status that was there before: the ledger says what the contact said last.
    if let Some((ledger, identifier)) = addresses.of(channel) {
        if status.is_opt_in() {
            let reach = reach_of(&origin.source);
            mirror::opt_in(&mut *tx, tenant, reach, (ledger, &identifier)).await?;
        } else {
            let opt_out = OptOut { ledger, identifier, source: origin.source.clone() };
            mirror::opt_out(&mut *tx, now, tenant, &[opt_out]).await?;
        }
    }
    all.put(channel, state);
    Ok((all, entry))
}

/// One channel's state to work on, and all of them as they are.
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

/// An operator's word that a contact's address works again.
#[derive(Debug, Clone)]
pub struct BounceCleared {
    pub user: UserId,
    pub reason: Option<String>,
}

/// Forgets a contact's bounces, and takes its address's `hard_bounce` and `complaint` rows out of the
/// workspace's ledger.
///
/// # Errors
/// Not found for a contact that is not there.
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
    let (user, channel) = (cleared.user, Channel::Email);
    let mut tx = db.begin().await?;
    let mut locked = contacts::lock(&mut tx, tenant.workspace, &[user]).await?;
    let addresses = locked.remove(&user).ok_or(Error::NotFound("Contact"))?;
    let (mut state, _) = states(&mut tx, tenant, user, channel).await?;
    if state.bounce != Bounce::NONE {
        state.bounce = Bounce::NONE;
        channels::save(&mut tx, tenant.workspace, now, (user, channel), &state).await?;
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
    if let Some((_, address)) = addresses.of(channel) {
        deliverability::forget(&mut tx, tenant.workspace, &address).await?;
    }
    tx.commit().await?;
    Ok(entry)
}

/// What follows from new addresses, inside the transaction that wrote them and after it did: bounces were
/// the old address's and are forgotten, unless the new one is known to bounce as well; what the contact
/// opted out of holds for the new address, too.
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
        addresses_begun(&mut *tx, now, tenant, &moved).await?;
    }
    if changes.is_empty() {
        return Ok(());
    }
    let opt_outs = channels::opt_outs(&mut *tx, tenant.workspace, changes).await?;
    mirror::opt_out(tx, now, tenant, &opt_outs).await
}

/// What follows from the addresses of new contacts, inside the transaction that made them: an address
/// that is known not to exist does not become valid by being somebody else's.
///
/// # Errors
/// When the store fails.
pub async fn addresses_begun(
    tx: &mut PgConnection,
    now: Timestamp,
    tenant: Tenant,
    users: &[UserId],
) -> Result<()> {
    channels::mark_bounced(tx, tenant.workspace, now, users).await
}
