//! The consent of two contacts that become one.

use std::{borrow::Cow, collections::HashMap};

use kernel::{Channel, Result, Tenant, Timestamp, UserId};
use sqlx::PgConnection;
use web::audit::{self, Action, Entry, Origin, Write};

use crate::consent::{
    model::{ChannelKey, ChannelState, ChannelStatus},
    store::{
        channels,
        merge::{self, MovedMembership},
    },
};

/// A contact that is merged into another; both are locked.
#[derive(Debug, Clone, Copy)]
pub struct ContactMerge<'m> {
    pub from: UserId,
    pub into: UserId,
    /// Whether the address of `from` is the survivor's now, with what bounces say about it.
    pub takes_bounces: bool,
    /// The reason in the history.
    pub reason: &'m str,
}

/// Gives the survivor the stricter consent of the two on each channel and list, and moves lists, pending confirmations and
/// the history. The ledgers of suppressions stay as they are. Returns the entries, which the caller counts after the
/// commit; there is always one.
///
/// # Errors
/// When the store fails.
pub async fn merge_contacts(
    tx: &mut PgConnection,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    contacts: &ContactMerge<'_>,
) -> Result<Vec<Entry>> {
    let ContactMerge { from, into, reason, .. } = *contacts;
    let workspace = tenant.workspace;
    merge::move_history(&mut *tx, workspace, from, into).await?;
    let mut entries = merge_channels(&mut *tx, now, tenant, contacts).await?;
    let entry = |moved: MovedMembership| Entry {
        user: into,
        channel: moved.channel,
        list: Some(moved.list),
        action: Action::Merge,
        previous: moved.previous.map(|status| status.as_str().into()),
        new: Some(moved.status.as_str().into()),
    };
    let moved = merge::move_memberships(&mut *tx, workspace, now, from, into).await?;
    entries.extend(moved.into_iter().map(entry));
    merge::move_pending(&mut *tx, workspace, from, into).await?;
    let write = Write { reason: Some(reason), ..Write::of(now, origin) };
    audit::append(tx, workspace, &write, &entries).await?;
    Ok(entries)
}

/// Merges all channels. Where neither contact has one, the entry is of email without a status.
async fn merge_channels(
    tx: &mut PgConnection,
    now: Timestamp,
    tenant: Tenant,
    contacts: &ContactMerge<'_>,
) -> Result<Vec<Entry>> {
    let ContactMerge { from, into, takes_bounces, .. } = *contacts;
    let workspace = tenant.workspace;
    let theirs: HashMap<Channel, ChannelState> =
        channels::find(&mut *tx, workspace, from).await?.into_iter().collect();
    let own: HashMap<Channel, ChannelState> =
        channels::find(&mut *tx, workspace, into).await?.into_iter().collect();
    let mut entries = Vec::new();
    for channel in Channel::ALL {
        let (before, other) = (own.get(&channel), theirs.get(&channel));
        if before.is_none()
            && other.is_none()
            && (channel != Channel::Email || !theirs.is_empty() || !own.is_empty())
        {
            continue;
        }
        let none = ChannelState::NONE;
        let before = before.unwrap_or(&none);
        let takes_bounces = takes_bounces && channel == Channel::Email;
        let after = before.merged(other.unwrap_or(&none), takes_bounces);
        if after != *before {
            channels::save(&mut *tx, workspace, now, ChannelKey { user: into, channel }, &after)
                .await?;
        }
        let name = |status: ChannelStatus| Cow::Borrowed(status.as_str());
        entries.push(Entry {
            user: into,
            channel,
            list: None,
            action: Action::Merge,
            previous: before.status.map(name),
            new: after.status.map(name),
        });
    }
    merge::forget_channels(tx, workspace, from).await?;
    Ok(entries)
}
