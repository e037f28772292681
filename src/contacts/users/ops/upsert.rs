//! Creates or updates profiles, one or a thousand, in a few statements.
//!
//! Elements are applied in waves ([`waves`]). Each wave is a transaction: find the profiles; where some have to
//! be created, lock their addresses and find again; lock the rows; update them; insert the others. Within a
//! wave no two elements can influence each other, so their order does not matter. Between waves the order is
//! that of the array.
//!
//! A wave that loses a race is retried: an external id was taken between the lookup and the write, or a profile
//! changed its identifiers or was deleted before it was locked.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use kernel::{
    Country, Error, Result, Tenant, Timestamp, UserId, WorkspaceId, fields::Patch,
    store::StoreFault,
};
use sqlx::{PgConnection, PgPool};

use super::NO_USER;
use crate::{
    consent::ops::{AddressChange, addresses_changed, addresses_created},
    users::{
        model::{
            CallKey, Key, Upsert, User,
            attributes::{self, AttributesFault},
            waves::{Name, first_wave},
        },
        store::{
            self,
            calls::{Missing, NextGroup},
            resolve::{LockedUser, ResolvedUser},
            write::{Bounds, Change, NewUser, Update},
        },
    },
};

/// Attempts at a wave before the caller gets a 503. Each lost race means that another request succeeded, so
/// only heavy contention on one profile reaches this limit.
const TRIES_MAX: u32 = 200;

/// The outcome of one create-or-update.
#[derive(Debug)]
pub struct Upserted {
    pub id: UserId,
    /// The external id of the profile after the change.
    pub external_id: Option<String>,
    /// Whether the profile was created by this request.
    pub is_new: bool,
    /// The whole profile; only where a single one was sent.
    pub user: Option<User>,
}

/// A create-or-update that a rule refused, as a whole.
#[derive(Debug)]
pub struct RefusedUpsert {
    pub error: Error,
    /// The profile that its key stands for, where there is one.
    pub user: Option<UserId>,
}

impl From<Error> for RefusedUpsert {
    fn from(error: Error) -> Self {
        Self { error, user: None }
    }
}

/// The outcome of one create-or-update of several.
pub type UpsertOutcome = Result<Upserted, RefusedUpsert>;

/// The workspace and the time of a write.
#[derive(Debug, Clone, Copy)]
pub struct WriteContext<'s> {
    pub db: &'s PgPool,
    pub tenant: Tenant,
    /// The country of national phone numbers.
    pub country: Option<Country>,
    /// The time of the request.
    pub now: Timestamp,
}

impl<'s> WriteContext<'s> {
    /// The wave that comes after `waves` others of the same request.
    fn after(self, waves: i64) -> WaveContext<'s> {
        WaveContext { context: self, at: self.now.utc() + TimeDelta::microseconds(waves) }
    }

    pub(super) fn only_step(self) -> WaveContext<'s> {
        self.after(0)
    }
}

/// One transaction of a request. They are a microsecond apart, so that `updated_at` keeps the order in which a
/// request changed its profiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaveContext<'s> {
    pub(super) context: WriteContext<'s>,
    pub(super) at: DateTime<Utc>,
}

/// Creates or updates profiles in the order given. Each element succeeds or fails alone.
///
/// # Errors
/// When the database cannot be used. Earlier waves have been applied then.
pub async fn upsert(
    context: WriteContext<'_>,
    upserts: &[Upsert],
) -> Result<Vec<Result<Upserted>>> {
    let outcomes = upsert_claimed(context, ClaimedUpserts { upserts, claims: &[] }).await?;
    // Without calls nothing is left out.
    let outcomes = outcomes.into_iter().flatten();
    Ok(outcomes.map(|outcome| outcome.map_err(|refused| refused.error)).collect())
}

/// Create-or-updates, and by place the keys of the calls they are made of; none without keys.
#[derive(Debug, Clone, Copy)]
pub struct ClaimedUpserts<'u> {
    pub upserts: &'u [Upsert],
    pub claims: &'u [Vec<CallKey>],
}

impl ClaimedUpserts<'_> {
    /// The keys of the calls whose outcome is final.
    fn keys(&self, outcomes: &Outcomes) -> Vec<CallKey> {
        let of = |(place, outcome): &(usize, UpsertOutcome)| {
            let keys = self.claims.get(*place)?;
            let is_done = match outcome {
                Ok(_) => true,
                Err(refused) => matches!(refused.error, Error::NotFound(_)),
            };
            let is_final = keys.len() == 1 || is_done;
            is_final.then_some(keys)
        };
        outcomes.iter().filter_map(of).flatten().copied().collect()
    }
}

/// Like [`upsert`]. Stores the keys in the transactions that apply their create-or-updates, but not those of a refused one
/// that several calls make: the caller applies each of these by itself. What follows it with an id or address of it is left
/// out, without an outcome: it is applied after these calls.
///
/// # Errors
/// When the database cannot be used; a conflict when one of the keys is stored already. Earlier waves have been
/// applied then.
pub async fn upsert_claimed(
    context: WriteContext<'_>,
    claimed: ClaimedUpserts<'_>,
) -> Result<Vec<Option<UpsertOutcome>>> {
    let ClaimedUpserts { upserts, claims } = claimed;
    let mut left_out: HashSet<Name<'_>> = HashSet::new();
    let mut outcomes: Vec<Option<UpsertOutcome>> = Vec::new();
    outcomes.resize_with(upserts.len(), || None);
    let mut pending: Vec<usize> = (0..upserts.len()).collect();
    let mut waves = 0;
    while !pending.is_empty() {
        let step = context.after(waves);
        waves += 1;
        for (place, outcome) in wave(step, claimed, &pending).await? {
            if outcome.is_err() && claims.get(place).is_some_and(|calls| calls.len() > 1) {
                left_out.extend(sent_names(&upserts[place]));
            }
            outcomes[place] = Some(outcome);
        }
        pending.retain(|place| {
            let names = || sent_names(&upserts[*place]);
            let is_left_out = names().any(|name| left_out.contains(&name));
            if is_left_out && outcomes[*place].is_none() {
                left_out.extend(names());
            }
            outcomes[*place].is_none() && !is_left_out
        });
    }
    Ok(outcomes)
}

type Outcomes = Vec<(usize, UpsertOutcome)>;

/// Applies those of the pending elements that wait for no other, and returns their outcomes.
async fn wave(
    step: WaveContext<'_>,
    claimed: ClaimedUpserts<'_>,
    pending: &[usize],
) -> Result<Outcomes> {
    let ClaimedUpserts { upserts, .. } = claimed;
    // By the names they were sent with, before their profiles are looked up.
    let first = first_wave(pending.iter().map(|place| sent_names(&upserts[*place])));
    let candidates: Vec<usize> =
        pending.iter().copied().zip(first).filter_map(|(place, is)| is.then_some(place)).collect();
    for _ in 0..TRIES_MAX {
        match attempt(step, claimed, &candidates).await {
            Ok(Some(outcomes)) => {
                let made = count(&outcomes);
                store::statistics::record_created(step.context.db, made).await;
                return Ok(outcomes);
            }
            // A key may have been taken between the look and the write.
            Ok(None) | Err(Error::Store(StoreFault::LostRace(_) | StoreFault::Duplicate(_))) => {}
            Err(error) => return Err(error),
        }
        metrics_catalogue::USERS_UPSERT_CONFLICTS.increment(1);
    }
    Err(Error::store_unavailable())
}

/// Counts created and updated profiles. Returns the number of created ones.
fn count(outcomes: &Outcomes) -> u64 {
    let done = outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
    let (new, old): (Vec<_>, Vec<_>) = done.partition(|upserted| upserted.is_new);
    metrics_catalogue::USERS_UPSERTED.with(["created"]).increment(new.len() as u64);
    metrics_catalogue::USERS_UPSERTED.with(["updated"]).increment(old.len() as u64);
    new.len() as u64
}

fn sent_names(upsert: &Upsert) -> impl Iterator<Item = Name<'_>> {
    [
        upsert.internal_id().map(Name::Internal),
        upsert.external_id().map(Name::External),
        upsert.email().map(Name::Email),
    ]
    .into_iter()
    .flatten()
}

/// An element of the wave with the profile it selects.
struct ResolvedUpsert<'u> {
    place: usize,
    upsert: &'u Upsert,
    found: Option<ResolvedUser>,
}

impl ResolvedUpsert<'_> {
    fn names(&self) -> impl Iterator<Item = Name<'_>> {
        let found = self.found.as_ref();
        sent_names(self.upsert)
            .chain(found.map(|found| Name::Internal(found.id)))
            .chain(found.and_then(|found| found.email.as_deref()).map(Name::Email))
    }

    /// Whether the external id is a further one of the profile.
    fn is_merged(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.is_merged)
    }

    /// Its external id as an internal one, where a profile would get it that has another internal id.
    fn new_external_id(&self) -> Option<UserId> {
        let found = self.found.as_ref();
        let is_new = found.map_or_else(|| self.creates(), |found| found.is_adopted);
        let id = self.upsert.external_id().filter(|_| is_new)?.parse().ok()?;
        (found.map(|found| found.id) != Some(id)).then_some(id)
    }

    /// Whether it creates a profile.
    fn creates(&self) -> bool {
        let creates = !self.upsert.manner.is_known_only;
        self.found.is_none() && self.upsert.internal_id().is_none() && creates
    }
}

/// One attempt at a wave; `None` when a race was lost and nothing was applied.
async fn attempt(
    step: WaveContext<'_>,
    claimed: ClaimedUpserts<'_>,
    candidates: &[usize],
) -> Result<Option<Outcomes>> {
    let ClaimedUpserts { upserts, .. } = claimed;
    let context = step.context;
    let mut tx = web::db::begin_by_index(context.db).await?;
    let Some(resolved) = resolve(&mut tx, context.tenant.workspace, upserts, candidates).await?
    else {
        return Ok(None);
    };
    let first = first_wave(resolved.iter().map(ResolvedUpsert::names));
    let wave: Vec<&ResolvedUpsert<'_>> =
        resolved.iter().zip(first).filter_map(|(one, is)| is.then_some(one)).collect();

    let mut outcomes: Outcomes = Vec::with_capacity(wave.len());
    let ids: Vec<UserId> = wave.iter().filter_map(|one| one.new_external_id()).collect();
    let taken = store::resolve::internal_ids(&mut tx, context.tenant.workspace, &ids).await?;
    let is_taken =
        |one: &&ResolvedUpsert<'_>| one.new_external_id().is_some_and(|id| taken.contains(&id));
    let (refused, wave): (Vec<_>, Vec<_>) = wave.into_iter().partition(is_taken);
    outcomes.extend(refused.into_iter().map(|one| (one.place, Err(of_another().into()))));
    let (found, absent): (Vec<&ResolvedUpsert<'_>>, Vec<&ResolvedUpsert<'_>>) =
        wave.into_iter().partition(|one| one.found.is_some());
    let (new, unknown): (Vec<_>, Vec<_>) = absent.into_iter().partition(|one| one.creates());
    outcomes.extend(unknown.into_iter().map(|one| (one.place, Err(NO_USER.into()))));
    let Some(changed) = change(&mut tx, step, &found).await? else { return Ok(None) };
    outcomes.extend(changed);
    let Some(made) = insert(&mut tx, step, &new).await? else { return Ok(None) };
    outcomes.extend(made);
    claim(&mut tx, step, &claimed.keys(&outcomes)).await?;
    if let [(_, Ok(only))] = outcomes.as_mut_slice()
        && upserts.len() == 1
    {
        only.user = store::read::by_id(&mut *tx, context.tenant.workspace, only.id).await?;
    }
    tx.commit().await?;
    Ok(Some(outcomes))
}

/// Stores keys of calls.
async fn claim(tx: &mut PgConnection, step: WaveContext<'_>, keys: &[CallKey]) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let stored = store::calls::claim(tx, step.context.tenant.workspace, keys, step.at).await?;
    if stored < keys.len() as u64 {
        return Err(Error::Conflict("a call was applied already".to_owned()));
    }
    Ok(())
}

/// From this number of elements on, addresses are locked before the first lookup: most arrays create profiles,
/// and a lookup of a thousand costs more than a thousand locks.
const LOCK_FIRST_FROM: usize = 16;

/// Finds the profile that each candidate selects, and locks the addresses for which profiles are created, so
/// that no other transaction creates them. `None` when another transaction changed the result between the two
/// lookups.
async fn resolve<'u>(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    upserts: &'u [Upsert],
    candidates: &[usize],
) -> Result<Option<Vec<ResolvedUpsert<'u>>>> {
    let wanted: Vec<&'u Upsert> = candidates.iter().map(|place| &upserts[*place]).collect();
    let resolved = async |tx: &mut PgConnection| -> Result<Vec<ResolvedUpsert<'u>>> {
        let found = store::resolve::find(tx, workspace, &wanted).await?;
        let places = candidates.iter().copied().zip(found);
        Ok(places
            .map(|(place, found)| ResolvedUpsert { place, upsert: &upserts[place], found })
            .collect())
    };
    let is_many = wanted.len() >= LOCK_FIRST_FROM;
    let locks_max =
        if is_many { store::resolve::address_locks_max(tx).await? } else { LOCK_FIRST_FROM };
    if is_many && wanted.len() <= locks_max {
        let sent: Vec<&str> = wanted.iter().filter_map(|one| one.email()).collect();
        store::resolve::lock_addresses(tx, workspace, &sent, locks_max).await?;
        return Ok(Some(resolved(tx).await?));
    }
    let seen = resolved(tx).await?;
    let addresses = |resolved: &[ResolvedUpsert<'u>]| -> Vec<&'u str> {
        resolved.iter().filter(|one| one.creates()).filter_map(|one| one.upsert.email()).collect()
    };
    let locked = addresses(&seen);
    if locked.is_empty() {
        return Ok(Some(seen));
    }
    store::resolve::lock_addresses(tx, workspace, &locked, locks_max).await?;
    let seen = resolved(tx).await?;
    let covered = addresses(&seen).iter().all(|email| locked.contains(email));
    Ok(covered.then_some(seen))
}

/// Updates existing profiles. `None` when one of them changed since it was found.
async fn change(
    tx: &mut PgConnection,
    step: WaveContext<'_>,
    wave: &[&ResolvedUpsert<'_>],
) -> Result<Option<Outcomes>> {
    if wave.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let ids: Vec<UserId> = wave.iter().filter_map(|one| Some(one.found.as_ref()?.id)).collect();
    let locked = store::resolve::lock(tx, step.context.tenant.workspace, &ids).await?;
    let mut instead = missing_attributes(tx, step, wave, &ids).await?;
    instead.extend(group_attributes(tx, step, wave, &ids).await?);
    let mut changes = Vec::with_capacity(wave.len());
    for (one, id) in wave.iter().zip(&ids) {
        match locked.get(id) {
            Some(row) if still_means(one, row) => {
                let mut change = change_of(one, row, *id);
                if let Some(attributes) = instead.get(id) {
                    change.attributes = attributes;
                }
                changes.push(change);
            }
            _ => return Ok(None),
        }
    }
    let refused = apply(tx, step, &changes, &locked).await?;
    let outcome = |one: &&ResolvedUpsert<'_>, id: &UserId| {
        if let Some(fault) = refused.get(id) {
            // One that is adopted by its address is not the caller's as long as its change is refused.
            let is_adopted = one.found.as_ref().is_some_and(|found| found.is_adopted);
            let user = (!is_adopted).then_some(*id);
            return Err(RefusedUpsert { error: merged_fault(*fault), user });
        }
        let external_id = locked.get(id).and_then(|row| row.external_id.clone());
        let external_id = external_id.or_else(|| one.upsert.external_id().map(str::to_owned));
        Ok(Upserted { id: *id, external_id, is_new: false, user: None })
    };
    Ok(Some(wave.iter().zip(&ids).map(|(one, id)| (one.place, outcome(one, id))).collect()))
}

/// Whether the locked profile is still the one that the element selects.
fn still_means(one: &ResolvedUpsert<'_>, row: &LockedUser) -> bool {
    let is_adopted = one.found.as_ref().is_some_and(|found| found.is_adopted);
    if one.is_merged() {
        // Ids of merged profiles stand for their survivor as long as it is active.
        return true;
    }
    match &one.upsert.key {
        Key::Internal(_) => true,
        Key::External(_) if is_adopted => {
            row.external_id.is_none() && row.email.as_deref() == one.upsert.email()
        }
        Key::External(id) => row.external_id.as_ref() == Some(id),
        Key::Email(email) => row.email.as_deref() == Some(email.as_str()),
    }
}

/// For changes that keep known attributes: the others.
async fn missing_attributes(
    tx: &mut PgConnection,
    step: WaveContext<'_>,
    wave: &[&ResolvedUpsert<'_>],
    ids: &[UserId],
) -> Result<HashMap<UserId, String>> {
    let wishes: Vec<Missing<'_>> = wave
        .iter()
        .zip(ids)
        .filter(|(one, _)| one.upsert.manner.is_once)
        .filter_map(|(one, user)| {
            Some(Missing { user: *user, attributes: one.upsert.attributes.as_ref()?.as_str() })
        })
        .collect();
    if wishes.is_empty() {
        return Ok(HashMap::new());
    }
    store::calls::missing(tx, step.context.tenant.workspace, &wishes).await
}

/// For changes that name another group without its traits: the attributes without those of the group before.
async fn group_attributes(
    tx: &mut PgConnection,
    step: WaveContext<'_>,
    wave: &[&ResolvedUpsert<'_>],
    ids: &[UserId],
) -> Result<HashMap<UserId, String>> {
    let next: Vec<NextGroup<'_>> = wave
        .iter()
        .zip(ids)
        .filter_map(|(one, user)| {
            Some(NextGroup { user: *user, group_id: one.upsert.group_id.as_deref()? })
        })
        .collect();
    if next.is_empty() {
        return Ok(HashMap::new());
    }
    let others = store::calls::of_other_groups(tx, step.context.tenant.workspace, &next).await?;
    let emptied = |next: &NextGroup<'_>| {
        let attributes = serde_json::json!({"groupId": next.group_id, "group": {}});
        (next.user, attributes.to_string())
    };
    Ok(next.iter().filter(|next| others.contains(&next.user)).map(emptied).collect())
}

fn change_of<'u>(one: &ResolvedUpsert<'u>, row: &LockedUser, id: UserId) -> Change<'u> {
    fn sent<T>(value: Option<T>) -> Patch<T> {
        value.map_or(Patch::Absent, Patch::Value)
    }
    let upsert = one.upsert;
    let keeps = |known: &Option<String>| upsert.manner.keeps_addresses() && known.is_some();
    Change {
        id,
        external_id: upsert.external_id().filter(|_| !one.is_merged()),
        email: sent(upsert.email().filter(|_| !keeps(&row.email))),
        phone: sent(upsert.phone.as_deref().filter(|_| !keeps(&row.phone))),
        attributes: upsert.attributes.as_ref().map_or(attributes::NONE, |sent| sent.as_str()),
    }
}

/// Applies changes to locked profiles. Returns those refused because of their merged attributes.
pub(super) async fn apply(
    tx: &mut PgConnection,
    step: WaveContext<'_>,
    changes: &[Change<'_>],
    locked: &HashMap<UserId, LockedUser>,
) -> Result<HashMap<UserId, AttributesFault>> {
    let WaveContext { context: WriteContext { tenant, country, now, .. }, at } = step;
    let workspace = tenant.workspace;
    let mut refused = HashMap::new();
    let done = store::write::update(
        tx,
        workspace,
        Update { country, at, bounds: Bounds::AsPrinted, changes },
    )
    .await?;
    if done.len() < changes.len() {
        let done: HashSet<UserId> = done.into_iter().collect();
        for change in changes.iter().filter(|change| !done.contains(&change.id)) {
            let (printed, keys) = store::write::merged(tx, workspace, change).await?;
            match attributes::check_stored(&printed, keys) {
                Ok(()) => {
                    let one = std::slice::from_ref(change);
                    let update = Update { country, at, bounds: Bounds::Checked, changes: one };
                    store::write::update(tx, workspace, update).await?;
                }
                Err(fault) => {
                    refused.insert(change.id, fault);
                }
            }
        }
    }
    let moved: Vec<AddressChange> = changes
        .iter()
        .filter(|change| !refused.contains_key(&change.id))
        .filter_map(|change| moved(change, locked.get(&change.id)?))
        .collect();
    if !moved.is_empty() {
        addresses_changed(tx, now, tenant, &moved).await?;
    }
    Ok(refused)
}

/// The addresses that a change sets to another value; `None` when there are none.
fn moved(change: &Change<'_>, before: &LockedUser) -> Option<AddressChange> {
    let differs =
        |patch: Patch<&str>, old: Option<&str>| patch.is_sent() && patch.over(None) != old;
    let email = differs(change.email, before.email.as_deref());
    let phone = differs(change.phone, before.phone.as_deref());
    (email || phone).then_some(AddressChange { user: change.id, email, phone })
}

/// The error for an external id that stands for another profile.
fn of_another() -> Error {
    Error::invalid("externalId", "must not be the internal id of another profile")
}

/// The error for attributes that exceed a limit after merging.
pub(super) fn merged_fault(fault: AttributesFault) -> Error {
    Error::invalid("attributes", format!("{fault} after merging with those stored"))
}

/// Inserts profiles. `None` when another transaction has just inserted one with the same external id.
async fn insert(
    tx: &mut PgConnection,
    step: WaveContext<'_>,
    wave: &[&ResolvedUpsert<'_>],
) -> Result<Option<Outcomes>> {
    if wave.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let users: Vec<NewUser<'_>> = wave
        .iter()
        .map(|one| NewUser {
            id: UserId::mint(step.context.now),
            external_id: one.upsert.external_id(),
            email: one.upsert.email(),
            phone: one.upsert.phone.as_deref(),
            attributes: one
                .upsert
                .attributes
                .as_ref()
                .map_or(attributes::NONE, |sent| sent.as_str()),
        })
        .collect();
    let WriteContext { tenant, country, .. } = step.context;
    let made = store::write::insert(tx, tenant.workspace, country, step.at, &users).await?;
    if made < users.len() as u64 {
        return Ok(None);
    }
    let with_email = users.iter().filter(|user| user.email.is_some());
    let with_email: Vec<UserId> = with_email.map(|user| user.id).collect();
    if !with_email.is_empty() {
        addresses_created(tx, step.context.now, step.context.tenant, &with_email).await?;
    }
    let outcome = |user: &NewUser<'_>| {
        let external_id = user.external_id.map(str::to_owned);
        Ok(Upserted { id: user.id, external_id, is_new: true, user: None })
    };
    Ok(Some(wave.iter().zip(&users).map(|(one, user)| (one.place, outcome(user))).collect()))
}
