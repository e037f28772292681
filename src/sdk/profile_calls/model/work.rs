//! What applying calls costs.

use std::collections::HashMap;

use ingest::record::{ProfileCall, ProfileCallKind};

use super::group_alone;

/// The work of a transaction, where that of a call which is applied with a thousand others is 1.
pub(super) const TRANSACTION_WORK: u64 = 20;
/// Calls of one request may wait for each other so often at no further cost: what a user gets, and gets once, are two.
pub(super) const WAVES_FREE: u64 = 2;
/// Most work of one request with a public key.
pub const REQUEST_WORK_MAX: u64 = 50_000;

/// Bytes of attributes that cannot have more names than one profile may have, 200.
pub(super) const JOINED_BYTES_MAX: usize = 1_200;

/// The work of the calls of one request. Each that joins two ids is a transaction of its own. So is each wave of others: a call
/// waits for the one before it that has an id or an address in common, unless it follows that one directly, is of the same user
/// and of the same manner, and their attributes surely fit into one profile. Two ids of one profile count as two people, since
/// nothing is looked up: its external and its internal id, in any case of letters, wait at most twice as often as is counted.
pub fn work<'c>(calls: impl Iterator<Item = ProfileCall<'c>>) -> u64 {
    let mut work = Work::default();
    calls.for_each(|call| work.add(&call));
    work.units()
}

/// The work of calls, added one after the other.
#[derive(Debug, Default)]
pub struct Work {
    calls: u64,
    joins: u64,
    waves: Waves,
}

impl Work {
    /// Adds the work of a call.
    pub fn add(&mut self, call: &ProfileCall<'_>) {
        self.calls += 1;
        match call.kind {
            ProfileCallKind::Set => self.waves.add(call),
            ProfileCallKind::Alias | ProfileCallKind::Join => self.joins += 1,
        }
    }

    /// The work of all calls that were added.
    pub fn units(&self) -> u64 {
        let transactions = self.joins + self.waves.most.saturating_sub(WAVES_FREE);
        self.calls + TRANSACTION_WORK * transactions
    }
}

/// In which wave calls are applied, at the latest.
#[derive(Debug, Default)]
struct Waves {
    /// The last change with each id or address.
    of_name: HashMap<String, Applied>,
    last: Option<(String, [bool; 3])>,
    last_change: Applied,
    /// Bytes of the attributes of the calls that are the last change.
    last_bytes: usize,
    most: u64,
}

/// A change of a request, by its number, and the wave in which it is applied.
#[derive(Debug, Clone, Copy, Default)]
struct Applied {
    number: u64,
    wave: u64,
}

impl Waves {
    fn add(&mut self, call: &ProfileCall<'_>) {
        let names = [call.user_id, call.anonymous_id, call.phone, call.email];
        // Profiles are found by addresses in lower case.
        let names = names.into_iter().filter(|name| !name.is_empty()).map(str::to_lowercase);
        let names: Vec<String> = names.collect();
        let last = self.last_change;
        let others = names.iter().filter_map(|name| self.of_name.get(name));
        let waits_for = |joined: Option<u64>| {
            let of = others.clone().filter(|it| Some(it.number) != joined);
            of.map(|it| it.wave).max().unwrap_or_default()
        };
        let is_group_alone = group_alone(call).is_some();
        let this = (call.user_id.to_owned(), [call.is_once, call.is_known_only, is_group_alone]);
        let bytes = self.last_bytes + call.attributes.len();
        let joins_last = self.last.as_ref() == Some(&this)
            && waits_for(Some(last.number)) < last.wave
            && bytes <= JOINED_BYTES_MAX;
        let (change, bytes) = if joins_last {
            (last, bytes)
        } else {
            let next = Applied { number: last.number + 1, wave: waits_for(None) + 1 };
            (next, call.attributes.len())
        };
        self.of_name.extend(names.iter().map(|name| (name.clone(), change)));
        (self.last, self.last_change, self.last_bytes) = (Some(this), change, bytes);
        self.most = self.most.max(change.wave);
    }
}
