//! Changes by a contact itself. Only these can subscribe a contact again after an opt-out.

use kernel::{Error, Result, Timestamp};
use sqlx::{PgConnection, PgPool};
use web::{
    audit::{self, Entry, Write},
    db,
    http::Requester,
    links::{CONFIRMATION_TTL, ConfirmSubscription},
};

use super::{LockedRows, lock_and_read, write_plan};
use crate::consent::{
    model::{
        ListState, Membership, MembershipChange, MembershipKey, MembershipStatus, Mode, Origin,
        Pending, PlanInput, RequestOutcome, SkipReason, Tenant, plan,
    },
    ops::read,
    store::pending,
};
use suppressions::ops::mirror::{self, OptIn, OptInReach};

/// Sources without proof that the contact itself made the request: anyone may have filled in the form.
const UNPROVEN_SOURCES: &[&str] = &["form", "preference_center", SDK_SOURCE];
/// The source of requests with an SDK key. The key is in every copy of an app, so it proves no identity.
pub const SDK_SOURCE: &str = "sdk";
/// The reason in the history of a confirmed subscription.
pub(in crate::consent::ops) const CONFIRMED: &str = "confirmed by the link sent to the contact";
pub(in crate::consent::ops) const RECIPIENT: &str = "recipient";

/// Which suppressions an opt-in of this source removes. An opt-in by an app leaves those that an operator or
/// another workspace added.
pub(in crate::consent::ops) fn opt_in_reach(source: &str) -> OptInReach {
    if source == SDK_SOURCE { OptInReach::OwnUnsubscribe } else { OptInReach::Full }
}

/// A contact's subscription to a list on a channel.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub key: MembershipKey,
    /// The text that the contact consented to.
    pub consent_text: Option<String>,
}

/// The result of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subscribed {
    Now(Membership),
    /// It waits for the click on a link that the caller has to send: [`web::links::Link::ConfirmSubscription`].
    Pending(Pending),
}

/// Subscribes a contact to a list on a channel, also after an opt-out. On a list that requires double opt-in, a
/// subscription through a form waits until it is [confirmed](confirm).
///
/// # Errors
/// Not found for an unknown contact, or an unknown or archived list.
pub async fn subscribe(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    subscription: &Subscription,
) -> Result<Subscribed> {
    let (subscribed, entries) =
        db::retried(|| subscribe_once(db, now, tenant, origin, subscription)).await?;
    audit::count(&entries);
    Ok(subscribed)
}

/// Stores a subscription until the contact confirms it, whether the list requires that or not. For callers
/// without proof of identity. Returns the end of the time to confirm it, which is the same for an unknown
/// contact.
///
/// # Errors
/// Not found for an unknown or archived list.
pub async fn request(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    subscription: &Subscription,
) -> Result<Timestamp> {
    let pending = pending_of(now, origin, subscription);
    db::retried(|| request_once(db, now, tenant, &pending)).await?;
    Ok(pending.expires_at)
}

async fn request_once(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    pending: &Pending,
) -> Result<()> {
    let (key, to) = (pending.key, MembershipStatus::Subscribed);
    let mut tx = db.begin().await?;
    let change = MembershipChange { key, now, to, source: &pending.source, consent_text: None };
    let seen = lock_and_read(&mut tx, tenant, &[change]).await?;
    let key = seen.key(key);
    let pending = &Pending { key, ..pending.clone() };
    let PlanInput { users, lists, rows } = seen.known;
    if lists.get(&key.list).is_none_or(|list| list.archived) {
        return Err(Error::NotFound("List"));
    }
    let is_subscribed = rows.get(&key).is_some_and(|row| row.status == to);
    if users.contains(&key.user) && !is_subscribed {
        pending::save(&mut tx, tenant.workspace, pending).await?;
    }
    tx.commit().await?;
    Ok(())
}

fn pending_of(now: Timestamp, origin: &Origin, subscription: &Subscription) -> Pending {
    Pending {
        key: subscription.key,
        source: origin.source.clone(),
        consent_text: subscription.consent_text.clone(),
        requested_at: now,
        expires_at: confirmation_deadline(now),
    }
}

/// The end of the time to confirm a request made now.
pub(in crate::consent::ops) fn confirmation_deadline(now: Timestamp) -> Timestamp {
    let ttl_ms = i64::try_from(CONFIRMATION_TTL.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.millis().saturating_add(ttl_ms))
}

async fn subscribe_once(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    subscription: &Subscription,
) -> Result<(Subscribed, Vec<Entry>)> {
    let key = subscription.key;
    let mut tx = db.begin().await?;
    let change = MembershipChange {
        key,
        now,
        to: MembershipStatus::Subscribed,
        source: &origin.source,
        consent_text: subscription.consent_text.as_deref(),
    };
    let mut seen = lock_and_read(&mut tx, tenant, &[change]).await?;
    let key = seen.key(key);
    let change = MembershipChange { key, ..change };
    if needs_confirmation(&seen.known, &key, &origin.source) {
        let pending = Pending { key, ..pending_of(now, origin, subscription) };
        pending::save(&mut tx, tenant.workspace, &pending).await?;
        tx.commit().await?;
        return Ok((Subscribed::Pending(pending), Vec::new()));
    }
    let write = Write { consent_text: change.consent_text, ..Write::of(now, origin) };
    let (membership, entries) =
        write_by_contact(&mut tx, tenant, &write, &mut seen, change).await?;
    tx.commit().await?;
    Ok((Subscribed::Now(row(membership)?), entries))
}

/// Whether a subscription has to be confirmed: the list requires double opt-in, the source has no proof of
/// identity, and the contact is not subscribed already.
fn needs_confirmation(known: &PlanInput, key: &MembershipKey, source: &str) -> bool {
    let list = known.lists.get(&key.list);
    let is_subscribed =
        known.rows.get(key).is_some_and(|row| row.status == MembershipStatus::Subscribed);
    let asks = |list: &ListState| list.require_double_opt_in && !list.archived;
    list.is_some_and(asks)
        && known.users.contains(&key.user)
        && UNPROVEN_SOURCES.contains(&source)
        && !is_subscribed
}

fn row(membership: Option<Membership>) -> Result<Membership> {
    membership.ok_or_else(|| Error::internal("a written membership is missing"))
}

/// Confirms a pending subscription. A second click returns the membership too. After a later opt-out, or too
/// late, nothing is pending and nothing changes.
///
/// # Errors
/// When the store fails.
pub async fn confirm(
    db: &PgPool,
    now: Timestamp,
    link: ConfirmSubscription,
    requester: &Requester,
) -> Result<Option<Membership>> {
    let Some(tenant) = read::tenant_of(db, link.workspace).await? else { return Ok(None) };
    let key = MembershipKey { user: link.user, list: link.list, channel: link.channel };
    let (membership, entries) =
        db::retried(|| confirm_once(db, now, tenant, key, requester)).await?;
    audit::count(&entries);
    Ok(membership)
}

async fn confirm_once(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    key: MembershipKey,
    requester: &Requester,
) -> Result<(Option<Membership>, Vec<Entry>)> {
    let mut tx = db.begin().await?;
    let to = MembershipStatus::Subscribed;
    let change = MembershipChange { key, now, to, source: "", consent_text: None };
    let mut seen = lock_and_read(&mut tx, tenant, &[change]).await?;
    let key = seen.key(key);
    let change = MembershipChange { key, ..change };
    let Some(pending) = pending::find(&mut tx, tenant.workspace, now, key).await? else {
        let row = seen.known.rows.remove(&key).filter(|row| row.status == to);
        return Ok((row.filter(|_| seen.known.users.contains(&key.user)), Vec::new()));
    };
    let PlanInput { users, lists, .. } = &seen.known;
    if !users.contains(&key.user) || lists.get(&key.list).is_none_or(|list| list.archived) {
        return Ok((None, Vec::new()));
    }
    let origin = Origin {
        source: pending.source,
        actor: RECIPIENT.to_owned(),
        requester: requester.clone(),
    };
    let text = pending.consent_text.as_deref();
    let change = MembershipChange { source: &origin.source, consent_text: text, ..change };
    let write = Write { now, origin: &origin, consent_text: text, reason: Some(CONFIRMED) };
    let written = write_by_contact(&mut tx, tenant, &write, &mut seen, change).await?;
    tx.commit().await?;
    Ok(written)
}

/// Unsubscribes a contact from a list on a channel, also from an archived list. Without a membership, an
/// unsubscribed one is created.
///
/// # Errors
/// Not found for an unknown contact or list.
pub async fn unsubscribe(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    key: MembershipKey,
) -> Result<Membership> {
    let (membership, entries) =
        db::retried(|| unsubscribe_once(db, now, tenant, origin, key)).await?;
    audit::count(&entries);
    Ok(membership)
}

async fn unsubscribe_once(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    key: MembershipKey,
) -> Result<(Membership, Vec<Entry>)> {
    let mut tx = db.begin().await?;
    let to = MembershipStatus::Unsubscribed;
    let change = MembershipChange { key, now, to, source: &origin.source, consent_text: None };
    let mut seen = lock_and_read(&mut tx, tenant, &[change]).await?;
    let change = MembershipChange { key: seen.key(key), ..change };
    let write = Write::of(now, origin);
    let (membership, entries) =
        write_by_contact(&mut tx, tenant, &write, &mut seen, change).await?;
    tx.commit().await?;
    Ok((row(membership)?, entries))
}

/// Writes a change by the contact itself, and its effect on the list's suppressions.
async fn write_by_contact(
    tx: &mut PgConnection,
    tenant: Tenant,
    write: &Write<'_>,
    seen: &mut LockedRows<'_>,
    change: MembershipChange<'_>,
) -> Result<(Option<Membership>, Vec<Entry>)> {
    let mut plan = plan(tenant, Mode::ByContact, &seen.known, &[change]);
    match plan.outcomes.first() {
        Some(RequestOutcome::Written) => {}
        Some(RequestOutcome::Refused(SkipReason::ContactNotFound)) => {
            return Err(Error::NotFound("Contact"));
        }
        _ => return Err(Error::NotFound("List")),
    }
    write_plan(tx, tenant, write, &plan).await?;
    if change.to == MembershipStatus::Subscribed {
        let address =
            seen.addresses.get(&change.key.user).and_then(|all| all.of(change.key.channel));
        if let Some(address) = address {
            let reach = opt_in_reach(change.source);
            let opt_in = OptIn { origin: write.origin, reach, address: &address };
            mirror::opt_in_to_list(tx, tenant, change.key.list, opt_in).await?;
        }
    }
    // A row that did not change is not among those to write.
    let membership = plan.rows.pop().or_else(|| seen.known.rows.remove(&change.key));
    Ok((membership, plan.entries))
}
