//! Changes of any number of memberships on behalf of contacts, in a few statements.

use std::collections::HashSet;

use kernel::{Channel, Error, ListId, Result, Timestamp, UserId};
use sqlx::PgPool;
use web::{
    audit::{self, Write},
    db,
};

use super::{lock_and_read, write_plan};
use crate::consent::{
    model::{
        MembershipChange, MembershipKey, MembershipStatus, Mode, Origin, Outcome, Plan,
        RequestOutcome, SkipReason, SubscriptionRequest, Tenant, plan,
    },
    store::memberships,
};

/// Applies inline subscriptions in their order, any number of them in a few statements. Returns one outcome for
/// each. An opt-out is never revoked here.
///
/// # Errors
/// When the store fails.
pub async fn apply_inline(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    requests: &[SubscriptionRequest],
) -> Result<Vec<Outcome>> {
    let named: Vec<Option<ListId>> =
        requests.iter().map(|request| request.list.parse().ok()).collect();
    let mut changes = Vec::with_capacity(requests.len());
    for (request, list) in requests.iter().zip(&named) {
        let Some(list) = *list else { continue };
        let key = MembershipKey { user: request.user, list, channel: request.channel };
        let (to, source) = (request.status, origin.source.as_str());
        changes.push(MembershipChange { key, now, to, source, consent_text: None });
    }
    let plan = write_all(db, tenant, origin, Mode::OnBehalf, &changes).await?;
    let mut outcomes = plan.outcomes.into_iter();
    let applied = named.into_iter().map(|list| match list.and_then(|_| outcomes.next()) {
        Some(RequestOutcome::Written | RequestOutcome::Untouched) => Outcome::Applied,
        Some(RequestOutcome::Refused(reason)) => Outcome::Skipped(reason),
        None => Outcome::Skipped(SkipReason::ListNotFound),
    });
    Ok(applied.collect())
}

/// Contacts to be added to a list or removed from it.
#[derive(Debug, Clone, Copy)]
pub struct Members<'a> {
    pub list: ListId,
    pub channel: Channel,
    /// Unknown contacts are skipped; repeated ones count once.
    pub users: &'a [UserId],
}

impl Members<'_> {
    fn changes<'s>(
        &self,
        now: Timestamp,
        source: &'s str,
        to: MembershipStatus,
    ) -> Vec<MembershipChange<'s>> {
        let mut seen = HashSet::with_capacity(self.users.len());
        let once = self.users.iter().filter(|user| seen.insert(**user));
        once.map(|user| {
            let key = MembershipKey { user: *user, list: self.list, channel: self.channel };
            MembershipChange { key, now, to, source, consent_text: None }
        })
        .collect()
    }
}

/// The result of a bulk addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    pub added: u64,
    /// Contacts that are skipped because they had opted out.
    pub skipped_unsubscribed: u64,
}

/// Adds contacts to a list in a few statements. Existing memberships stay as they are.
///
/// # Errors
/// Not found for an unknown or archived list.
pub async fn add_members(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    members: Members<'_>,
) -> Result<Added> {
    require_active_list(db, tenant, members.list).await?;
    let changes = members.changes(now, &origin.source, MembershipStatus::Subscribed);
    let plan = write_all(db, tenant, origin, Mode::Add, &changes).await?;
    let of = |wanted: RequestOutcome| plan.outcomes.iter().filter(|v| **v == wanted).count() as u64;
    Ok(Added {
        added: of(RequestOutcome::Written),
        skipped_unsubscribed: of(RequestOutcome::Refused(SkipReason::OptedOut)),
    })
}

/// Unsubscribes contacts from a list in a few statements, and returns how many were subscribed. The rows stay.
///
/// # Errors
/// Not found for an unknown or archived list.
pub async fn remove_members(
    db: &PgPool,
    now: Timestamp,
    tenant: Tenant,
    origin: &Origin,
    members: Members<'_>,
) -> Result<u64> {
    require_active_list(db, tenant, members.list).await?;
    let changes = members.changes(now, &origin.source, MembershipStatus::Unsubscribed);
    let plan = write_all(db, tenant, origin, Mode::Remove, &changes).await?;
    Ok(plan.entries.len() as u64)
}

async fn require_active_list(db: &PgPool, tenant: Tenant, list: ListId) -> Result<()> {
    let mut connection = db.acquire().await?;
    let lists = memberships::lists(&mut connection, tenant.workspace, &[list]).await?;
    match lists.get(&list) {
        Some(state) if !state.archived => Ok(()),
        _ => Err(Error::NotFound("List")),
    }
}

/// Plans and writes any number of requests in one transaction.
async fn write_all(
    db: &PgPool,
    tenant: Tenant,
    origin: &Origin,
    mode: Mode,
    changes: &[MembershipChange<'_>],
) -> Result<Plan> {
    let Some(MembershipChange { now, .. }) = changes.first() else { return Ok(Plan::default()) };
    let plan = db::retried(async || {
        let mut tx = db.begin().await?;
        let seen = lock_and_read(&mut tx, tenant, changes).await?;
        let plan = plan(tenant, mode, &seen.known, &seen.changes);
        write_plan(&mut tx, tenant, &Write::of(*now, origin), &plan).await?;
        tx.commit().await?;
        Ok(plan)
    })
    .await?;
    audit::count(&plan.entries);
    Ok(plan)
}
