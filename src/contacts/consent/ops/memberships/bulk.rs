//! Changes of any number of memberships on behalf of contacts, in a few statements.

use std::collections::HashSet;

use kernel::{Channel, Error, ListId, Result, Timestamp, UserId};
use sqlx::PgPool;
use web::{
    audit::{self, Write},
    db,
};

use super::{carry_out, look};
use crate::consent::{
    model::{
        MembershipKey, MembershipStatus, Mode, Origin, Outcome, Plan, SkipReason, Tenant, Turn,
        Verdict, Wish, plan,
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

/// Contacts to be added to a list or removed from it.
#[derive(Debug, Clone, Copy)]
pub struct Members<'a> {
    pub list: ListId,
    pub channel: Channel,
    /// Unknown contacts are skipped; repeated ones count once.
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
    must_be_there(db, tenant, members.list).await?;
    let requests = members.requests(now, &origin.source, MembershipStatus::Subscribed);
    let plan = write_all(db, tenant, origin, Mode::Add, &requests).await?;
    let of = |wanted: Verdict| plan.verdicts.iter().filter(|v| **v == wanted).count() as u64;
    Ok(Added {
        added: of(Verdict::Written),
        skipped_unsubscribed: of(Verdict::Refused(SkipReason::OptedOut)),
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

/// Plans and writes any number of requests in one transaction.
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
