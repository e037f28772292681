//! Plans any number of membership changes before anything is written.
//!
//! The store reads the rows, the plan decides, the store writes. So one contact and ten thousand take the same
//! few statements and follow the same rules.

use std::collections::{BTreeMap, HashMap, HashSet};

use kernel::{ListId, Tenant, UserId};
use web::audit::Entry;

use super::{Membership, MembershipChange, MembershipKey, MembershipStatus, SkipReason};

/// The kind of request. It decides how an existing row may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The contact itself: every change is permitted, also subscribing again after an opt-out.
    ByContact,
    /// Inline subscriptions sent by a caller for a contact: they never revoke an opt-out.
    OnBehalf,
    /// A bulk addition: existing rows stay as they are.
    Add,
    /// A bulk removal: only subscribed rows change.
    Remove,
}

/// The properties of a list that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListState {
    /// Whether it takes no new members.
    pub archived: bool,
    /// Whether a subscription through a form has to be confirmed.
    pub require_double_opt_in: bool,
}

/// The outcome of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The row is written, or was in the requested state already.
    Written,
    /// The row stays as it is.
    Untouched,
    Refused(SkipReason),
}

/// The rows to write, and the outcomes to answer.
#[derive(Debug, Default)]
pub struct Plan {
    /// Rows to insert or update.
    pub rows: Vec<Membership>,
    /// The key of every row with an outcome `Written`, changed or not. Pending confirmations under these keys are
    /// deleted.
    pub settled: Vec<MembershipKey>,
    /// History entries, in order.
    pub entries: Vec<Entry>,
    /// One for each request, in order.
    pub outcomes: Vec<RequestOutcome>,
}

#[derive(Debug, Default)]
pub struct PlanInput {
    pub users: HashSet<UserId>,
    pub lists: HashMap<ListId, ListState>,
    pub rows: HashMap<MembershipKey, Membership>,
}

/// Plans the requests in their order. A later request for the same key sees the result of the earlier one.
pub fn plan(
    tenant: Tenant,
    mode: Mode,
    known: &PlanInput,
    requests: &[MembershipChange<'_>],
) -> Plan {
    let mut plan = Plan::default();
    let mut now: BTreeMap<MembershipKey, Membership> = BTreeMap::new();
    for change in requests {
        let key = &change.key;
        let before = now.get(key).or_else(|| known.rows.get(key));
        if let Some(outcome) = refusal(mode, known, change, before) {
            plan.outcomes.push(outcome);
            continue;
        }
        let after = before
            .map_or_else(|| Membership::begin(tenant, change), |before| before.changed(change));
        let previous = before.map(|before| before.status);
        plan.entries.push(Entry {
            user: key.user,
            channel: key.channel,
            list: Some(key.list),
            action: MembershipStatus::action(previous, change.to),
            previous: previous.map(|status| status.as_str().into()),
            new: Some(change.to.as_str().into()),
        });
        plan.outcomes.push(RequestOutcome::Written);
        now.insert(*key, after);
    }
    plan.settled = now.keys().copied().collect();
    plan.rows = now.into_values().filter(|row| known.rows.get(&row.key()) != Some(row)).collect();
    plan
}

/// Why a request is not written, if so.
fn refusal(
    mode: Mode,
    known: &PlanInput,
    change: &MembershipChange<'_>,
    before: Option<&Membership>,
) -> Option<RequestOutcome> {
    use MembershipStatus::{Subscribed, Unsubscribed};
    if !known.users.contains(&change.key.user) {
        return Some(RequestOutcome::Refused(SkipReason::ContactNotFound));
    }
    let Some(list) = known.lists.get(&change.key.list) else {
        return Some(RequestOutcome::Refused(SkipReason::ListNotFound));
    };
    // An opt-out is accepted for an archived list too.
    if list.archived && change.to == Subscribed {
        return Some(RequestOutcome::Refused(SkipReason::ListArchived));
    }
    let before = before.map(|before| before.status);
    match (mode, before, change.to) {
        (Mode::OnBehalf | Mode::Add, Some(Unsubscribed), Subscribed) => {
            Some(RequestOutcome::Refused(SkipReason::OptedOut))
        }
        (Mode::Add, Some(_), _) | (Mode::Remove, None | Some(Unsubscribed), _) => {
            Some(RequestOutcome::Untouched)
        }
        _ => None,
    }
}
