//! Any number of membership changes, thought through before anything is written.
//!
//! The store reads what is there, the plan says what becomes of it, the store writes that: a few
//! statements for one contact or ten thousand, and the same rules for both.

use std::collections::{BTreeMap, HashMap, HashSet};

use kernel::{ListId, Tenant, UserId};
use web::audit::Entry;

use super::{Membership, MembershipKey, MembershipStatus, SkipReason, Turn};

/// Who is asking, which decides what may happen to a row that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The contact's own word: anything may happen, also a return.
    Own,
    /// Somebody on the contact's behalf (inline subscriptions): an opt-out is never taken back.
    OnBehalf,
    /// A bulk addition: rows that are there are left alone.
    Add,
    /// A bulk removal: only what is subscribed changes.
    Remove,
}

/// What is known of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListState {
    /// Whether it takes nobody any more.
    pub archived: bool,
    /// Whether a subscription through a form has to be confirmed.
    pub require_double_opt_in: bool,
}

/// What becomes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is written, or was so already.
    Written,
    /// The row is left alone.
    Untouched,
    Refused(SkipReason),
}

/// What is to be written, and what to be answered.
#[derive(Debug, Default)]
pub struct Plan {
    /// Rows to insert or update.
    pub rows: Vec<Membership>,
    /// Every row that was decided on, changed or not; what waits for confirmation under its key is over.
    pub settled: Vec<MembershipKey>,
    /// Entries of the history, in order.
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

/// Thinks the requests through, in their order; a key asked for twice sees the first one's result.
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

/// What keeps a request from being written.
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
    // An opt-out is heard whatever became of the list.
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
