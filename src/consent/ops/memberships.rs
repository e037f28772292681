//! Changes of memberships: of one contact by its own word, or of thousands on their behalf.

use std::collections::{HashMap, HashSet};

use sqlx::{PgConnection, PgPool};

use crate::{
    audit::{self, Entry, Write},
    consent::{
        model::{
            Known, ListState, Membership, MembershipKey, MembershipStatus, Mode, Origin, Outcome,
            Pending, Plan, SkipReason, Tenant, Turn, Verdict, Wish, plan,
        },
        ops::read,
        store::{
            contacts::{self, Addresses},
            memberships, pending,
        },
    },
    db,
    http::Requester,
    kernel::{Channel, Error, ListId, Result, Timestamp, UserId},
    links::{CONFIRMATION_TTL, ConfirmSubscription},
    suppressions::ops::mirror,
};

/// Sources that speak for whoever filled in a form, which may have been anybody (DECISIONS C8).
const UNPROVEN_SOURCES: &[&str] = &["form", "preference_center"];
/// The reason in the history of a subscription that was confirmed.
const CONFIRMED: &str = "confirmed by the link sent to the contact";
/// Who confirms.
const RECIPIENT: &str = "recipient";

/// A contact's own word on one list and channel.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// Whose, to what.
    pub key: MembershipKey,
    /// The words consented to.
    pub consent_text: Option<String>,
}

/// What became of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subscribed {
    /// It is so.
    Now(Membership),
    /// It waits for the click on a link, which the caller has to send: see
    /// [`crate::links::Link::ConfirmSubscription`].
    Pending(Pending),
}

/// Subscribes a contact to a list on a channel: the only way back after an opt-out. On a list that
/// requires double opt-in, a subscription through a form waits until it is [confirmed](confirm).
///
/// # Errors
/// Not found for a contact or a list that is not there, or a list that is archived.
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

async fn subscribe_once(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    subscription: &Subscription,
) -> Result<(Subscribed, Vec<Entry>)> {
    let key = subscription.key;
    let mut tx = db.begin().await?;
    let turn = Turn {
        now,
        to: MembershipStatus::Subscribed,
        source: &origin.source,
        consent_text: subscription.consent_text.as_deref(),
    };
    let mut seen = look(&mut tx, tenant, &[(key, turn)]).await?;
    if waits(&seen.known, &key, &origin.source) {
        let ttl_ms = i64::try_from(CONFIRMATION_TTL.as_millis()).unwrap_or(i64::MAX);
        let pending = Pending {
            key,
            source: origin.source.clone(),
            consent_text: subscription.consent_text.clone(),
            requested_at: now,
            expires_at: Timestamp::from_millis(now.millis().saturating_add(ttl_ms)),
        };
        pending::save(&mut tx, tenant.workspace, &pending).await?;
        tx.commit().await?;
        return Ok((Subscribed::Pending(pending), Vec::new()));
    }
    let write = Write { consent_text: turn.consent_text, ..Write::of(now, origin) };
    let plan = own_word(&mut tx, tenant, &write, &mut seen, (key, turn)).await?;
    tx.commit().await?;
    Ok((Subscribed::Now(row(plan.0)?), plan.1))
}

/// Whether a subscription has to be confirmed: a list that asks for it, a source that proves nothing, a
/// contact that is not subscribed already.
fn waits(known: &Known, key: &MembershipKey, source: &str) -> bool {
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

/// Confirms a subscription that waits. A second click finds it done; after an opt-out that came later, or
/// once it is too late, there is nothing to confirm and nothing happens.
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
    let turn = Turn { now, to, source: "", consent_text: None };
    let mut seen = look(&mut tx, tenant, &[(key, turn)]).await?;
    let Some(pending) = pending::find(&mut tx, tenant.workspace, now, key).await? else {
        let row = seen.known.rows.remove(&key).filter(|row| row.status == to);
        return Ok((row.filter(|_| seen.known.users.contains(&key.user)), Vec::new()));
    };
    let Known { users, lists, .. } = &seen.known;
    if !users.contains(&key.user) || lists.get(&key.list).is_none_or(|list| list.archived) {
        return Ok((None, Vec::new()));
    }
    let origin = Origin {
        source: pending.source,
        actor: RECIPIENT.to_owned(),
        requester: requester.clone(),
    };
    let text = pending.consent_text.as_deref();
    let turn = Turn { source: &origin.source, consent_text: text, ..turn };
    let write = Write { now, origin: &origin, consent_text: text, reason: Some(CONFIRMED) };
    let written = own_word(&mut tx, tenant, &write, &mut seen, (key, turn)).await?;
    tx.commit().await?;
    Ok(written)
}

/// Unsubscribes a contact from a list on a channel; where there is no membership, one that says so is
/// made. Heard for archived lists, too.
///
/// # Errors
/// Not found for a contact or a list that is not there.
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
    let turn = Turn { now, to, source: &origin.source, consent_text: None };
    let mut seen = look(&mut tx, tenant, &[(key, turn)]).await?;
    let write = Write::of(now, origin);
    let (membership, entries) = own_word(&mut tx, tenant, &write, &mut seen, (key, turn)).await?;
    tx.commit().await?;
    Ok((row(membership)?, entries))
}

/// Writes one contact's own word, with what it does to the ledger of the list.
async fn own_word(
    tx: &mut PgConnection,
    tenant: Tenant,
    write: &Write<'_>,
    seen: &mut Seen,
    (key, turn): (MembershipKey, Turn<'_>),
) -> Result<(Option<Membership>, Vec<Entry>)> {
    let mut plan = plan(tenant, Mode::Own, &seen.known, &[(key, turn)]);
    match plan.verdicts.first() {
        Some(Verdict::Written) => {}
        Some(Verdict::Refused(SkipReason::ContactNotFound)) => {
            return Err(Error::NotFound("Contact"));
        }
        _ => return Err(Error::NotFound("List")),
    }
    carry_out(tx, tenant, write, &plan).await?;
    if turn.to == MembershipStatus::Subscribed {
        let address = seen.addresses.get(&key.user).and_then(|all| all.of(key.channel));
        if let Some((ledger, identifier)) = address {
            mirror::opt_in_to_list(tx, tenant, key.list, (ledger, &identifier)).await?;
        }
    }
    // A row that was so already is not among those to be written.
    let membership = plan.rows.pop().or_else(|| seen.known.rows.remove(&key));
    Ok((membership, plan.entries))
}

/// Fulfils inline subscriptions, any number of them in a few statements and in their order; one outcome
/// for each. An opt-out is never taken back here.
///
/// # Errors
/// When the store fails.
pub async fn apply_inline(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    wishes: &[Wish],
) -> Result<Vec<Outcome>> {
    let named: Vec<Option<ListId>> = wishes.iter().map(|wish| wish.list.parse().ok()).collect();
    let mut requests = Vec::with_capacity(wishes.len());
    for (wish, list) in wishes.iter().zip(&named) {
        let Some(list) = *list else { continue };
        let key = MembershipKey { user: wish.user, list, channel: wish.channel };
        let turn = Turn { now, to: wish.status, source: &origin.source, consent_text: None };
        requests.push((key, turn));
    }
    let plan = write_all(db, tenant, origin, Mode::OnBehalf, &requests).await?;
    let mut verdicts = plan.verdicts.into_iter();
    let judged = named.into_iter().map(|list| match list.and_then(|_| verdicts.next()) {
        Some(Verdict::Written | Verdict::Untouched) => Outcome::Applied,
        Some(Verdict::Refused(reason)) => Outcome::Skipped(reason),
        None => Outcome::Skipped(SkipReason::ListNotFound),
    });
    Ok(judged.collect())
}

/// Contacts to be added to a list, or removed from it.
#[derive(Debug, Clone, Copy)]
pub struct Members<'a> {
    /// The list.
    pub list: ListId,
    /// The channel.
    pub channel: Channel,
    /// The contacts. Those that are not there are passed over, repeated ones count once.
    pub users: &'a [UserId],
}

impl Members<'_> {
    fn requests<'s>(
        &self,
        now: Timestamp,
        source: &'s str,
        to: MembershipStatus,
    ) -> Vec<(MembershipKey, Turn<'s>)> {
        let mut seen = HashSet::with_capacity(self.users.len());
        let once = self.users.iter().filter(|user| seen.insert(**user));
        let turn = Turn { now, to, source, consent_text: None };
        once.map(|user| {
            let key = MembershipKey { user: *user, list: self.list, channel: self.channel };
            (key, turn)
        })
        .collect()
    }
}

/// What became of a bulk addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Memberships made.
    pub added: u64,
    /// Contacts that had opted out, and stay so.
    pub skipped_unsubscribed: u64,
}

/// Adds contacts to a list in a few statements. Memberships that are there are left alone.
///
/// # Errors
/// Not found for a list that is not there, or is archived.
pub async fn add_members(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    members: Members<'_>,
) -> Result<Added> {
    must_be_there(db, tenant, members.list).await?;
    let requests = members.requests(now, &origin.source, MembershipStatus::Subscribed);
    let plan = write_all(db, tenant, origin, Mode::Add, &requests).await?;
    let of = |wanted: Verdict| plan.verdicts.iter().filter(|v| **v == wanted).count() as u64;
    Ok(Added {
        added: of(Verdict::Written),
        skipped_unsubscribed: of(Verdict::Refused(SkipReason::OptedOut)),
    })
}

/// Takes contacts out of a list in a few statements: what is subscribed becomes unsubscribed, and their
/// number is given; the rows stay.
///
/// # Errors
/// Not found for a list that is not there, or is archived.
pub async fn remove_members(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    members: Members<'_>,
) -> Result<u64> {
    must_be_there(db, tenant, members.list).await?;
    let requests = members.requests(now, &origin.source, MembershipStatus::Unsubscribed);
    let plan = write_all(db, tenant, origin, Mode::Remove, &requests).await?;
    Ok(plan.entries.len() as u64)
}

async fn must_be_there(db: &PgPool, tenant: Tenant, list: ListId) -> Result<()> {
    let mut connection = db.acquire().await?;
    let lists = memberships::lists(&mut connection, tenant.workspace, &[list]).await?;
    match lists.get(&list) {
        Some(state) if !state.archived => Ok(()),
        _ => Err(Error::NotFound("List")),
    }
}

/// Plans and carries out any number of requests in one transaction.
async fn write_all(
    db: &PgPool,
    tenant: Tenant,
    origin: &Origin,
    mode: Mode,
    requests: &[(MembershipKey, Turn<'_>)],
) -> Result<Plan> {
    let Some((_, Turn { now, .. })) = requests.first() else { return Ok(Plan::default()) };
    let plan = db::retried(async || {
        let mut tx = db.begin().await?;
        let seen = look(&mut tx, tenant, requests).await?;
        let plan = plan(tenant, mode, &seen.known, requests);
        carry_out(&mut tx, tenant, &Write::of(*now, origin), &plan).await?;
        tx.commit().await?;
        Ok(plan)
    })
    .await?;
    audit::count(&plan.entries);
    Ok(plan)
}

/// What is there, and where the contacts can be reached.
struct Seen {
    known: Known,
    addresses: HashMap<UserId, Addresses>,
}

/// Locks the contacts of the requests, and reads what is there.
async fn look(
    tx: &mut PgConnection,
    tenant: Tenant,
    requests: &[(MembershipKey, Turn<'_>)],
) -> Result<Seen> {
    let keys: HashSet<MembershipKey> = requests.iter().map(|(key, _)| *key).collect();
    let keys: Vec<MembershipKey> = keys.into_iter().collect();
    let users: HashSet<UserId> = keys.iter().map(|key| key.user).collect();
    let lists: HashSet<ListId> = keys.iter().map(|key| key.list).collect();
    let users: Vec<UserId> = users.into_iter().collect();
    let lists: Vec<ListId> = lists.into_iter().collect();
    let addresses = contacts::lock(&mut *tx, tenant.workspace, &users).await?;
    let known = Known {
        users: addresses.keys().copied().collect(),
        lists: memberships::lists(&mut *tx, tenant.workspace, &lists).await?,
        rows: memberships::find(tx, tenant, &keys).await?,
    };
    Ok(Seen { known, addresses })
}

/// Writes a plan down.
async fn carry_out(
    tx: &mut PgConnection,
    tenant: Tenant,
    write: &Write<'_>,
    plan: &Plan,
) -> Result<()> {
    memberships::save(&mut *tx, tenant.workspace, &plan.rows).await?;
    pending::settle(&mut *tx, tenant.workspace, &plan.settled).await?;
    audit::append(tx, tenant.workspace, write, &plan.entries).await
}
