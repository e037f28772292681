//! Opt-ins to a channel that wait for confirmation by the contact. Callers request them that have no proof of
//! identity.

use kernel::{Channel, Result, Timestamp, UserId};
use sqlx::PgPool;
use web::{
    audit::{self, Entry},
    db,
    http::Requester,
    links::ConfirmChannel,
};

use super::{
    channels::{ChannelChange, set_channel_within, states},
    memberships::{CONFIRMED, RECIPIENT, confirmation_deadline},
    read,
};
use crate::consent::{
    model::{ChannelStatus, Origin, PendingChannel, Tenant},
    store::{contacts, pending_channels},
};

/// An opt-in to a channel that is to be confirmed.
#[derive(Debug, Clone)]
pub struct ChannelRequest {
    /// `None` where the profile does not exist.
    pub user: Option<UserId>,
    pub channel: Channel,
    /// The status once it is confirmed: an opt-in.
    pub status: ChannelStatus,
    /// The text that the contact consented to.
    pub consent_text: Option<String>,
}

/// Stores an opt-in until the contact confirms it. Returns the end of the time to confirm it, which is the same
/// for an unknown contact, so that callers cannot find out which contacts exist.
///
/// # Errors
/// When the store fails.
pub async fn request_channel(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    request: &ChannelRequest,
) -> Result<Timestamp> {
    let expires_at = confirmation_deadline(now);
    let Some(user) = request.user else { return Ok(expires_at) };
    let pending = PendingChannel {
        user,
        channel: request.channel,
        status: request.status,
        source: origin.source.clone(),
        consent_text: request.consent_text.clone(),
        requested_at: now,
        expires_at,
    };
    db::retried(|| request_once(db, tenant, &pending)).await?;
    Ok(expires_at)
}

async fn request_once(db: &PgPool, tenant: Tenant, pending: &PendingChannel) -> Result<()> {
    let mut tx = db.begin().await?;
    let locked = contacts::lock(&mut tx, tenant.workspace, &[pending.user]).await?;
    let pending = &PendingChannel { user: locked.current(pending.user), ..pending.clone() };
    let (state, _) = states(&mut tx, tenant, pending.user, pending.channel).await?;
    if locked.addresses.contains_key(&pending.user) && state.status != Some(pending.status) {
        pending_channels::save(&mut tx, tenant.workspace, pending).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Confirms a pending opt-in. Returns whether the contact is opted in now, also on a second click. After a
/// later opt-out, or too late, nothing is pending and nothing changes.
///
/// # Errors
/// When the store fails.
pub async fn confirm_channel(
    db: &PgPool,
    now: Timestamp,
    link: ConfirmChannel,
    requester: &Requester,
) -> Result<bool> {
    let Some(tenant) = read::tenant_of(db, link.workspace).await? else { return Ok(false) };
    let (is_opted_in, entry) =
        db::retried(|| confirm_once(db, now, tenant, link, requester)).await?;
    audit::count(entry.as_slice());
    Ok(is_opted_in)
}

async fn confirm_once(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    link: ConfirmChannel,
    requester: &Requester,
) -> Result<(bool, Option<Entry>)> {
    let channel = link.channel;
    let mut tx = db.begin().await?;
    let locked = contacts::lock(&mut tx, tenant.workspace, &[link.user]).await?;
    let user = locked.current(link.user);
    if !locked.addresses.contains_key(&user) {
        return Ok((false, None));
    }
    let found = pending_channels::find(&mut tx, tenant.workspace, now, user, channel).await?;
    let Some(pending) = found else {
        let (state, _) = states(&mut tx, tenant, user, channel).await?;
        return Ok((state.status.is_some_and(ChannelStatus::is_opt_in), None));
    };
    let origin = Origin {
        source: pending.source,
        actor: RECIPIENT.to_owned(),
        requester: requester.clone(),
    };
    let change = ChannelChange {
        user,
        channel,
        status: pending.status,
        consent_text: pending.consent_text,
        reason: Some(CONFIRMED.to_owned()),
    };
    let (_, entry) = set_channel_within(&mut tx, now, tenant, &origin, &change).await?;
    tx.commit().await?;
    Ok((true, Some(entry)))
}
