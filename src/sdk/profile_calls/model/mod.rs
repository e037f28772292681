//! How calls become changes of profiles, what they cost, and which workspaces' calls are applied later than others'.

pub(super) mod deferral;
mod work;

use std::collections::{HashMap, HashSet};

use contacts::users::model::{
    CallKey, Key, Manner, PHONE_CHARS_MAX, Upsert, attributes::Attributes,
};
use ingest::record::{ProfileCall, ProfileCallKind};
use kernel::{EmailAddress, UserId};
use serde::{Deserialize, de::IgnoredAny};
use sha2::{Digest as _, Sha256};

pub use self::work::{REQUEST_WORK_MAX, Work, work};

/// What is wrong with an email address of a caller.
pub fn email_fault(text: &str) -> Option<String> {
    text.parse::<EmailAddress>().err().map(|fault| fault.to_string())
}

/// What is wrong with a phone number of a caller.
pub fn phone_fault(text: &str) -> Option<String> {
    let chars = text.chars().count();
    (chars > PHONE_CHARS_MAX)
        .then(|| format!("must be at most {PHONE_CHARS_MAX} characters, received {chars}"))
}

/// A change of one profile: of one call, or of several that follow one another.
#[derive(Debug, Clone)]
pub(super) struct Change<'c> {
    pub(super) upsert: Upsert,
    pub(super) calls: Vec<ProfileCall<'c>>,
}

impl Change<'_> {
    /// Each of its calls as a change of its own.
    pub(super) fn parts(&self) -> impl DoubleEndedIterator<Item = Self> {
        let key = &self.upsert.key;
        self.calls.iter().map(move |call| {
            let part = change(call);
            Self { upsert: Upsert { key: key.clone(), ..part.upsert }, ..part }
        })
    }

    /// The keys of its calls.
    pub(super) fn keys(&self) -> Vec<CallKey> {
        self.calls.iter().map(key).collect()
    }

    /// Ids and addresses of the person. Email addresses are normalised, as those that profiles are found by.
    fn names(&self) -> impl Iterator<Item = &str> {
        let ids = self.calls.iter().flat_map(|call| [call.user_id, call.anonymous_id, call.phone]);
        ids.chain(self.upsert.email()).filter(|name| !name.is_empty())
    }
}

/// Calls that are applied together.
#[derive(Debug)]
pub(super) enum Step<'c> {
    /// Changes of profiles, of any number of people.
    Changes(Vec<Change<'c>>),
    /// Two ids of one person.
    Join(ProfileCall<'c>),
}

impl Step<'_> {
    /// Has the calls with these user ids change these profiles: so several ids of one profile are one name of it.
    pub(super) fn lead_to(&mut self, profiles: &HashMap<String, UserId>) {
        let Self::Changes(changes) = self else { return };
        for Change { upsert, .. } in changes {
            if let Some(user) = upsert.external_id().and_then(|id| profiles.get(id)) {
                upsert.key = Key::Internal(*user);
            }
        }
    }
}

/// What calls are named in their protocols that say which group a user belongs to.
const GROUP_CALLS: [&str; 2] = ["group", "$groupidentify"];

/// Most changes of one step.
const CHANGES_MAX: usize = 1_000;

/// Fewest changes of a transaction, where they could be applied by several.
const CHANGES_PER_TRANSACTION_MIN: usize = 100;

/// Halves of these changes that may be applied at the same time where each id leads to a profile of its own: no id or
/// address is in both, so that their order does not matter. None where they are few or share one.
pub(super) fn halves<'s, 'c>(changes: &'s [Change<'c>]) -> Option<[&'s [Change<'c>]; 2]> {
    if changes.len() < 2 * CHANGES_PER_TRANSACTION_MIN {
        return None;
    }
    let (first, second) = changes.split_at(changes.len() / 2);
    let names: HashSet<&str> = first.iter().flat_map(Change::names).collect();
    second
        .iter()
        .flat_map(Change::names)
        .all(|name| !names.contains(name))
        .then_some([first, second])
}

/// Which ids of calls may lead to one profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    /// Each user id leads to a profile of its own.
    Apart,
    /// Several user ids may be of one profile.
    Shared,
}

/// The steps of calls of one workspace, in their order. Calls of one user become one change where no call in between could
/// have to do with the same person, ids or addresses.
pub(super) fn steps<'c>(calls: impl Iterator<Item = ProfileCall<'c>>, ids: Ids) -> Vec<Step<'c>> {
    let mut steps = Vec::new();
    let mut open = Open::of(ids);
    for call in calls {
        match call.kind {
            ProfileCallKind::Set => {
                open.add(&call);
                if open.changes.len() == CHANGES_MAX {
                    steps.extend(open.take());
                }
            }
            ProfileCallKind::Alias | ProfileCallKind::Join => {
                steps.extend(open.take());
                steps.push(Step::Join(call));
            }
        }
    }
    steps.extend(open.take());
    steps
}

/// Changes that are being collected.
#[derive(Debug)]
struct Open<'c> {
    ids: Ids,
    changes: Vec<Change<'c>>,
    /// The last change of each user.
    last: HashMap<&'c str, usize>,
    /// The last change with each id or address.
    named: HashMap<String, usize>,
}

impl<'c> Open<'c> {
    fn of(ids: Ids) -> Self {
        Self { ids, changes: Vec::new(), last: HashMap::new(), named: HashMap::new() }
    }

    fn take(&mut self) -> Option<Step<'c>> {
        self.last.clear();
        self.named.clear();
        let changes = std::mem::take(&mut self.changes);
        (!changes.is_empty()).then_some(Step::Changes(changes))
    }

    fn add(&mut self, call: &ProfileCall<'c>) {
        let change = change(call);
        let names: Vec<String> = change.names().map(str::to_owned).collect();
        let last = self.last.get(call.user_id).copied();
        let last = last.filter(|place| self.may_move(&names, *place));
        let place = last.unwrap_or(self.changes.len());
        let apart = match self.changes.get_mut(place) {
            Some(last) if last.upsert.manner == change.upsert.manner => last.absorb(change),
            _ => Some(change),
        };
        let place = if apart.is_some() { self.changes.len() } else { place };
        self.changes.extend(apart);
        self.last.insert(call.user_id, place);
        self.named.extend(names.into_iter().map(|name| (name, place)));
    }

    /// Whether a call with these names may come right after the change at `place`: none in between has one of them.
    fn may_move(&self, names: &[String], place: usize) -> bool {
        let is_last = place + 1 == self.changes.len();
        let is_free = |name: &String| self.named.get(name).is_none_or(|other| *other <= place);
        is_last || self.ids == Ids::Apart && names.iter().all(is_free)
    }
}

impl Change<'_> {
    /// Whether both together adopt the profile that they adopt one after the other: the later one finds the profile that
    /// the earlier one left, and adopts none by its own address.
    fn adopts_alike(&self, later: &Self) -> bool {
        let adopting = later.upsert.adopting_email();
        adopting.is_none() || adopting == self.upsert.adopting_email()
    }

    /// Adds a later change of the same profile, made in the same manner. Gives it back where both together would adopt
    /// another profile, or break a limit of attributes, although each does not.
    fn absorb(&mut self, later: Self) -> Option<Self>
    where
        Self: Sized,
    {
        let earlier = &self.upsert;
        // Whether traits of a group stay depends on the group before it.
        let is_one_kind = earlier.group_id.is_some() == later.upsert.group_id.is_some();
        if !is_one_kind || !self.adopts_alike(&later) {
            return Some(later);
        }
        let earlier = &mut self.upsert;
        let is_once = earlier.manner.is_once;
        let merged = Attributes::merged(
            earlier.attributes.as_ref(),
            later.upsert.attributes.as_ref(),
            is_once,
        );
        let Ok(merged) = merged else { return Some(later) };
        earlier.attributes = merged;
        let later_upsert = later.upsert;
        earlier.group_id = later_upsert.group_id;
        let keeps_addresses = earlier.manner.keeps_addresses();
        let keeps = |has: bool| keeps_addresses && has;
        if later_upsert.email.is_some() && !keeps(earlier.email.is_some()) {
            earlier.email = later_upsert.email;
        }
        if later_upsert.phone.is_some() && !keeps(earlier.phone.is_some()) {
            earlier.phone = later_upsert.phone;
        }
        self.calls.extend(later.calls);
        None
    }
}

/// The change of one call.
pub(super) fn change<'c>(call: &ProfileCall<'c>) -> Change<'c> {
    let filled = |text: &'c str| (!text.is_empty()).then_some(text);
    let attributes = filled(call.attributes).filter(|text| *text != "{}");
    let manner = Manner {
        is_public: call.is_public,
        is_once: call.is_once,
        is_known_only: call.is_known_only,
    };
    Change {
        upsert: Upsert {
            key: Key::External(call.user_id.to_owned()),
            // It was checked before the call was recorded.
            email: filled(call.email).and_then(|text| text.parse().ok()),
            phone: filled(call.phone).map(str::to_owned),
            attributes: attributes.and_then(|text| Attributes::read_text(text).ok()),
            group_id: group_alone(call),
            manner,
        },
        calls: vec![*call],
    }
}

/// The attributes that a call sets which says which group a user belongs to.
#[derive(Debug, Deserialize)]
struct GroupAttributes {
    #[serde(rename = "groupId")]
    id: String,
    group: Option<IgnoredAny>,
}

/// The group that a call names without its traits; none for other calls.
fn group_alone(call: &ProfileCall<'_>) -> Option<String> {
    if call.kind != ProfileCallKind::Set || !GROUP_CALLS.contains(&call.sent_as) {
        return None;
    }
    let attributes: GroupAttributes = serde_json::from_str(call.attributes).ok()?;
    attributes.group.is_none().then_some(attributes.id)
}

/// What a call is known by within its workspace.
pub(super) fn key(call: &ProfileCall<'_>) -> CallKey {
    let digest = Sha256::new()
        .chain_update([call.kind as u8, u8::from(call.is_once)])
        .chain_update((call.user_id.len() as u64).to_be_bytes())
        .chain_update(call.user_id)
        .chain_update(call.call_id)
        .finalize();
    let mut key = [0; 16];
    key.copy_from_slice(&digest[..16]);
    CallKey(key)
}

#[cfg(test)]
mod tests {
    use contacts::users::model::waves::{Name, first_wave};
    use proptest::prelude::*;

    use super::{
        work::{JOINED_BYTES_MAX, TRANSACTION_WORK, WAVES_FREE},
        *,
    };

    fn set<'c>(user_id: &'c str, call_id: &'c str, attributes: &'c str) -> ProfileCall<'c> {
        ProfileCall { user_id, call_id, attributes, ..ProfileCall::default() }
    }

    /// What the steps do, as texts.
    fn shown(calls: &[ProfileCall<'_>]) -> Vec<Vec<String>> {
        let show = |change: &Change<'_>| {
            let attributes = change.upsert.attributes.as_ref().map_or("", Attributes::as_str);
            format!("{} {attributes} {}", change.upsert.external_id().unwrap(), change.calls.len())
        };
        steps(calls.iter().copied(), Ids::Apart)
            .iter()
            .map(|step| match step {
                Step::Changes(changes) => changes.iter().map(show).collect(),
                Step::Join(call) => vec![format!("{} {}", call.previous_id, call.user_id)],
            })
            .collect()
    }

    #[test]
    fn calls_of_one_person_are_one_change_and_the_later_value_counts() {
        let calls = [
            set("ann", "1", r#"{"a":1,"b":1}"#),
            set("bob", "2", "{}"),
            set("ann", "3", r#"{"b":2}"#),
        ];
        assert_eq!(shown(&calls), [[r#"ann {"a":1,"b":2} 2"#, "bob  1"]]);
        let public = |phone| ProfileCall { is_public: true, phone, ..set("ann", phone, "{}") };
        let calls = [public("1"), public("2")];
        let Some(Step::Changes(changes)) = steps(calls.into_iter(), Ids::Apart).pop() else {
            panic!()
        };
        assert_eq!(changes[0].upsert.phone.as_deref(), Some("1"), "an address that is known stays");
        let once = |call: ProfileCall<'static>| ProfileCall { is_once: true, ..call };
        let calls =
            [once(set("ann", "1", r#"{"a":1}"#)), once(set("ann", "2", r#"{"a":2,"b":2}"#))];
        assert_eq!(shown(&calls), [[r#"ann {"a":1,"b":2} 2"#]]);
    }

    #[test]
    fn a_call_does_not_overtake_another_with_the_same_id_or_address() {
        let with =
            |user_id, call_id, more: ProfileCall<'static>| ProfileCall { user_id, call_id, ..more };
        let anonymous = |anonymous_id| ProfileCall { anonymous_id, ..ProfileCall::default() };
        let email = |email| ProfileCall { email, ..ProfileCall::default() };
        let phone = |phone| ProfileCall { phone, ..ProfileCall::default() };
        for [first, common] in [
            [anonymous("a1"), anonymous("a2")],
            [email("a1@example.test"), email("a2@example.test")],
            [phone("1"), phone("2")],
        ] {
            let calls =
                [with("ann", "1", first), with("bob", "2", common), with("ann", "3", common)];
            assert_eq!(shown(&calls), [["ann  1", "bob  1", "ann  1"]], "{common:?}");
        }
        let calls = [set("ann", "1", "{}"), set("bob", "2", "{}"), set("ann", "3", "{}")];
        assert_eq!(shown(&calls), [["ann  2", "bob  1"]]);
        let shared = steps(calls.into_iter(), Ids::Shared);
        let [Step::Changes(changes)] = &shared[..] else { panic!() };
        let users: Vec<_> = changes.iter().filter_map(|it| it.upsert.external_id()).collect();
        assert_eq!(users, ["ann", "bob", "ann"], "bob may be another name of ann");
        let calls = [set("ann", "1", "{}"), set("ann", "2", "{}"), set("bob", "3", "{}")];
        let shared = steps(calls.into_iter(), Ids::Shared);
        let [Step::Changes(changes)] = &shared[..] else { panic!() };
        assert_eq!(changes.len(), 2, "nothing is between two calls");
    }

    #[test]
    fn an_address_that_may_lead_to_another_profile_stays_apart() {
        let with = |call_id, email: &'static str, is_public| ProfileCall {
            email,
            is_public,
            ..set("ann", call_id, "{}")
        };
        let addresses = |emails: [&'static str; 3], is_public| -> Vec<Option<String>> {
            let calls = [("1", emails[0]), ("2", emails[1]), ("3", emails[2])]
                .map(|(call_id, email)| with(call_id, email, is_public));
            let steps = steps(calls.into_iter(), Ids::Apart);
            let [Step::Changes(changes)] = &steps[..] else { panic!() };
            changes.iter().map(|it| it.upsert.email().map(str::to_owned)).collect()
        };
        let (one, two) = ("one@example.test", "two@example.test");
        let some = |email: &str| Some(email.to_owned());
        // The first address leads to the profile that ann adopts; the second is its new one.
        assert_eq!(addresses([one, two, two], false), [some(one), some(two)]);
        assert_eq!(addresses([one, two, ""], false), [some(one), some(two)]);
        // Without one ann gets a profile of her own, which adopts none later.
        assert_eq!(addresses(["", two, two], false), [None, some(two)]);
        assert_eq!(addresses([one, "", one], false), [some(one)]);
        // A public key adopts none, and keeps the first address.
        assert_eq!(addresses([one, two, ""], true), [some(one)]);
        assert_eq!(addresses(["", two, one], true), [some(two)]);
    }

    #[test]
    fn work_counts_calls_and_the_transactions_that_they_wait_for() {
        let email = |user_id, email| ProfileCall { email, ..set(user_id, "1", "{}") };
        let device =
            |user_id, anonymous_id| ProfileCall { anonymous_id, ..set(user_id, "1", "{}") };
        let join = |kind| ProfileCall { kind, previous_id: "x", ..set("ann", "1", "") };
        let once = |user_id| ProfileCall { is_once: true, ..set(user_id, "1", "{}") };
        let (ann, bob) = (set("ann", "1", "{}"), set("bob", "1", "{}"));
        let group = ProfileCall { sent_as: "group", ..set("ann", "1", r#"{"groupId":"g"}"#) };
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(JOINED_BYTES_MAX / 2));
        for (calls, waits) in [
            (vec![], 0),
            (vec![ann, ann, bob], 0),
            (vec![join(ProfileCallKind::Alias), join(ProfileCallKind::Join)], 2),
            (vec![ann, once("ann"), bob, once("bob")], 0),
            (vec![ann, once("ann"), ann, once("ann")], 2),
            (vec![ann, group, ann, group], 2),
            (vec![ann, bob, ann, bob, ann], 1),
            (vec![email("ann", "a@x.test"); 5], 0),
            (vec![set("ann", "1", &long); 5], 3),
            (vec![email("ann", "a@x.test"), email("bob", "A@x.test"), email("cid", "a@x.test")], 1),
            (
                vec![
                    device("ann", "d"),
                    device("bob", "d"),
                    device("ann", "d"),
                    device("bob", "d"),
                ],
                2,
            ),
        ] {
            let expected = calls.len() as u64 + waits * TRANSACTION_WORK;
            assert_eq!(work(calls.iter().copied()), expected, "{calls:?}");
        }
    }

    proptest! {
        #[test]
        fn no_calls_wait_more_often_than_their_work_says(
            calls in prop::collection::vec((0..4_usize, 0..3_usize, 0..3_usize, 0..3_usize), 0..40),
        ) {
            const USERS: [&str; 4] = ["ann", "bob", "cid", "dan"];
            const DEVICES: [&str; 3] = ["", "d", "e"];
            const EMAILS: [&str; 3] = ["", "a@x.test", "A@X.test"];
            let calls: Vec<ProfileCall<'_>> = calls
                .iter()
                .map(|(user, device, email, kind)| ProfileCall {
                    anonymous_id: DEVICES[*device],
                    email: EMAILS[*email],
                    is_once: *kind == 1,
                    is_public: true,
                    sent_as: if *kind == 2 { "group" } else { "" },
                    ..set(USERS[*user], "1", if *kind == 2 { r#"{"groupId":"g"}"# } else { "{}" })
                })
                .collect();
            for ids in [Ids::Shared, Ids::Apart] {
                let mut waves = 0;
                for step in steps(calls.iter().copied(), ids) {
                    let Step::Changes(changes) = step else { unreachable!("none joins ids") };
                    let mut pending: Vec<&Change<'_>> = changes.iter().collect();
                    while !pending.is_empty() {
                        waves += 1;
                        let names = pending.iter().map(|change| {
                            let upsert = &change.upsert;
                            let email = upsert.email().map(Name::Email);
                            [Name::External(change.calls[0].user_id)].into_iter().chain(email)
                        });
                        let first = first_wave(names);
                        let mut first = first.into_iter();
                        pending.retain(|_| !first.next().unwrap());
                    }
                }
                let bound = calls.len() as u64 + TRANSACTION_WORK * u64::saturating_sub(waves, WAVES_FREE);
                prop_assert!(work(calls.iter().copied()) >= bound);
            }
        }
    }

    #[test]
    fn calls_that_break_a_limit_together_stay_apart() {
        let traits = |begin: usize| {
            let members: Vec<String> =
                (begin..begin + 150).map(|number| format!("\"k{number:03}\":1")).collect();
            format!("{{{}}}", members.join(","))
        };
        let (first, second) = (traits(0), traits(150));
        let calls = [set("ann", "1", &first), set("ann", "2", &second), set("ann", "3", "{}")];
        assert_eq!(shown(&calls), [[format!("ann {first} 1"), format!("ann {second} 2")]]);
    }

    #[test]
    fn another_manner_and_an_alias_keep_the_order() {
        let once = ProfileCall { is_once: true, ..set("ann", "2", r#"{"a":2}"#) };
        let alias =
            ProfileCall { kind: ProfileCallKind::Alias, previous_id: "x", ..set("ann", "3", "") };
        let calls = [set("ann", "1", r#"{"a":1}"#), once, alias, set("ann", "4", r#"{"a":4}"#)];
        let expected: [&[&str]; 3] =
            [&[r#"ann {"a":1} 1"#, r#"ann {"a":2} 1"#], &["x ann"], &[r#"ann {"a":4} 1"#]];
        assert_eq!(shown(&calls), expected);
    }

    #[test]
    fn a_group_without_traits_is_a_change_of_its_own() {
        let group = |call_id, attributes| ProfileCall {
            sent_as: "group",
            ..set("ann", call_id, attributes)
        };
        let (one, two) = (r#"{"groupId":"g1"}"#, r#"{"groupId":"g2"}"#);
        let with_traits = r#"{"groupId":"g1","group":{"a":1}}"#;
        let calls = [
            set("ann", "1", r#"{"b":1}"#),
            group("2", with_traits),
            group("3", one),
            group("4", two),
            set("ann", "5", one),
        ];
        let Some(Step::Changes(changes)) = steps(calls.into_iter(), Ids::Apart).pop() else {
            panic!()
        };
        let found: Vec<_> = changes
            .iter()
            .map(|it| {
                (it.upsert.group_id.as_deref(), it.upsert.attributes.as_ref().unwrap().as_str())
            })
            .collect();
        let first = r#"{"b":1,"group":{"a":1},"groupId":"g1"}"#;
        assert_eq!(found, [(None, first), (Some("g2"), two), (None, one)]);
        let posthog = ProfileCall { sent_as: "$groupidentify", ..set("ann", "1", two) };
        assert_eq!(group_alone(&posthog).as_deref(), Some("g2"));
        assert_eq!(group_alone(&ProfileCall { sent_as: "identify", ..posthog }), None);
    }

    #[test]
    fn ids_of_one_profile_are_one_name_of_it_and_so_are_the_parts_of_a_change() {
        let user = UserId::from_bytes([0xab; 12]);
        let internal = user.to_string();
        let calls = [set("ann", "1", "{}"), set(&internal, "2", "{}"), set(&internal, "3", "{}")];
        let calls = calls.into_iter().chain([set("bob", "4", "{}")]);
        let mut steps = steps(calls, Ids::Shared);
        let profiles = HashMap::from([("ann".to_owned(), user), (internal.clone(), user)]);
        for step in &mut steps {
            step.lead_to(&profiles);
        }
        let [Step::Changes(changes)] = &steps[..] else { panic!() };
        let internal = Key::Internal(user);
        let keys: Vec<_> = changes.iter().map(|it| &it.upsert.key).collect();
        assert_eq!(keys, [&internal, &internal, &Key::External("bob".to_owned())]);
        let parts: Vec<_> = changes[1].parts().map(|it| (it.upsert.key, it.calls.len())).collect();
        assert_eq!(parts, [(internal.clone(), 1), (internal, 1)]);
    }

    #[test]
    fn a_step_has_a_bounded_number_of_changes() {
        let users: Vec<String> = (0..=CHANGES_MAX).map(|number| number.to_string()).collect();
        let calls: Vec<_> = users.iter().map(|user| set(user, "1", "{}")).collect();
        let sizes: Vec<usize> = shown(&calls).iter().map(Vec::len).collect();
        assert_eq!(sizes, [CHANGES_MAX, 1]);
    }

    #[test]
    fn changes_are_halved_where_no_id_or_address_is_in_both_halves() {
        const CHANGES: usize = 2 * CHANGES_PER_TRANSACTION_MIN;
        let users: Vec<String> = (0..CHANGES).map(|number| number.to_string()).collect();
        // The first and the last call have something in common.
        let changes = |common: ProfileCall<'static>| -> Vec<Change<'_>> {
            let calls = users.iter().enumerate().map(|(place, user)| {
                let is_end = place == 0 || place + 1 == CHANGES;
                let call = if is_end { common } else { ProfileCall::default() };
                ProfileCall { user_id: user.as_str(), ..call }
            });
            calls.map(|call| change(&call)).collect()
        };
        let apart = changes(ProfileCall::default());
        let [first, second] = halves(&apart).expect("no name is in both");
        assert_eq!((first.len(), second.len()), (CHANGES / 2, CHANGES / 2));
        assert!(halves(&apart[1..]).is_none(), "few");
        for common in [
            ProfileCall { anonymous_id: "a", ..ProfileCall::default() },
            ProfileCall { email: "a@example.test", ..ProfileCall::default() },
            ProfileCall { phone: "+4930123456", ..ProfileCall::default() },
        ] {
            assert!(halves(&changes(common)).is_none(), "{common:?}");
        }
    }

    #[test]
    fn the_key_of_a_call_is_what_it_is_its_user_and_its_id() {
        let call = set("ann", "1", "{}");
        let others = [
            set("ann", "2", "{}"),
            set("an", "n1", "{}"),
            ProfileCall { is_once: true, ..call },
            ProfileCall { kind: ProfileCallKind::Alias, ..call },
        ];
        assert_eq!(key(&call), key(&set("ann", "1", r#"{"a":1}"#)));
        for other in others {
            assert_ne!(key(&call), key(&other), "{other:?}");
        }
    }

    #[test]
    fn addresses_are_held_to_the_rules_of_users() {
        assert_eq!(email_fault("ann@example.test"), None);
        assert_eq!(email_fault("ann").unwrap(), "must be an email address");
        assert_eq!(phone_fault(&"1".repeat(20)), None);
        assert_eq!(
            phone_fault(&"1".repeat(21)).unwrap(),
            "must be at most 20 characters, received 21"
        );
    }
}
