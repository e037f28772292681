//! Plans any number of membership changes before anything is written.
//!
//! The store reads the rows, the plan decides, the store writes. So one contact and ten thousand take the same
//! few statements and follow the same rules.

use std::collections::{BTreeMap, HashMap, HashSet};

use kernel::{ListId, Tenant, UserId};
use web::audit::Entry;

use super::{Membership, MembershipKey, MembershipStatus, SkipReason, Turn};

/// The kind of request. It decides how an existing row may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The contact itself: every change is permitted, also subscribing again after an opt-out.
    Own,
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
pub enum Verdict {
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
    pub verdicts: Vec<Verdict>,
}

#[derive(Debug, Default)]
pub struct Known {
    pub users: HashSet<UserId>,
    pub lists: HashMap<ListId, ListState>,
    pub rows: HashMap<MembershipKey, Membership>,
}

/// Plans the requests in their order. A later request for the same key sees the result of the earlier one.
pub fn plan(
    tenant: Tenant,
    mode: Mode,
    known: &Known,
    requests: &[(MembershipKey, Turn<'_>)],
) -> Plan {
    let mut plan = Plan::default();
    let mut now: BTreeMap<MembershipKey, Membership> = BTreeMap::new();
    for (key, turn) in requests {
        let before = now.get(key).or_else(|| known.rows.get(key));
        if let Some(verdict) = refusal(mode, known, key, turn, before) {
            plan.verdicts.push(verdict);
            continue;
        }
        let after = before
            .map_or_else(|| Membership::begin(tenant, *key, turn), |before| before.turned(turn));
        let previous = before.map(|before| before.status);
        plan.entries.push(Entry {
            user: key.user,
            channel: key.channel,
            list: Some(key.list),
            action: MembershipStatus::action(previous, turn.to),
            previous: previous.map(|status| status.as_str().into()),
            new: Some(turn.to.as_str().into()),
        });
        plan.verdicts.push(Verdict::Written);
        now.insert(*key, after);
    }
    plan.settled = now.keys().copied().collect();
    plan.rows = now.into_values().filter(|row| known.rows.get(&row.key()) != Some(row)).collect();
    plan
}

/// Why a request is not written, if so.
fn refusal(
    mode: Mode,
    known: &Known,
    key: &MembershipKey,
    turn: &Turn<'_>,
    before: Option<&Membership>,
) -> Option<Verdict> {
    use MembershipStatus::{Subscribed, Unsubscribed};
    if !known.users.contains(&key.user) {
        return Some(Verdict::Refused(SkipReason::ContactNotFound));
    }
    let Some(list) = known.lists.get(&key.list) else {
        return Some(Verdict::Refused(SkipReason::ListNotFound));
    };
    // An opt-out is accepted for an archived list too.
    if list.archived && turn.to == Subscribed {
        return Some(Verdict::Refused(SkipReason::ListArchived));
    }
    let before = before.map(|before| before.status);
    match (mode, before, turn.to) {
        (Mode::OnBehalf | Mode::Add, Some(Unsubscribed), Subscribed) => {
            Some(Verdict::Refused(SkipReason::OptedOut))
        }
        (Mode::Add, Some(_), _) | (Mode::Remove, None | Some(Unsubscribed), _) => {
            Some(Verdict::Untouched)
        }
        _ => None,
    }
}
