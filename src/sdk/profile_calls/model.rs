//! How calls become changes of profiles.

use std::collections::HashMap;

use contacts::users::model::{
    CallKey, Key, Manner, PHONE_CHARS_MAX, Upsert, attributes::Attributes,
};
use ingest::record::{ProfileCall, ProfileCallKind};
use kernel::EmailAddress;
use sha2::{Digest as _, Sha256};

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
#[derive(Debug)]
pub(super) struct Change<'c> {
    pub(super) upsert: Upsert,
    /// The keys of its calls.
    pub(super) keys: Vec<CallKey>,
    pub(super) links: Vec<AnonymousId<'c>>,
}

/// An anonymous id of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnonymousId<'c> {
    pub(super) id: &'c str,
    /// When the call happened: milliseconds since the epoch.
    pub(super) at_ms: i64,
}

/// Calls that are applied together.
#[derive(Debug)]
pub(super) enum Step<'c> {
    /// Changes of profiles, of any number of people.
    Changes(Vec<Change<'c>>),
    /// Two ids of one person.
    Join(ProfileCall<'c>),
}

/// Most changes of one step.
const CHANGES_MAX: usize = 1_000;

/// The steps of calls of one workspace, in their order.
pub(super) fn steps<'c>(calls: impl Iterator<Item = ProfileCall<'c>>) -> Vec<Step<'c>> {
    let mut steps = Vec::new();
    let mut open = Open::default();
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
#[derive(Debug, Default)]
struct Open<'c> {
    changes: Vec<Change<'c>>,
    /// The last change of each user.
    last: HashMap<&'c str, usize>,
}

impl<'c> Open<'c> {
    fn take(&mut self) -> Option<Step<'c>> {
        self.last.clear();
        let changes = std::mem::take(&mut self.changes);
        (!changes.is_empty()).then_some(Step::Changes(changes))
    }

    fn add(&mut self, call: &ProfileCall<'c>) {
        let change = change(call);
        let last = self.last.get(call.user_id).and_then(|place| self.changes.get_mut(*place));
        match last {
            Some(last) if last.upsert.manner == change.upsert.manner => last.absorb(change),
            _ => {
                self.last.insert(call.user_id, self.changes.len());
                self.changes.push(change);
            }
        }
    }
}

impl Change<'_> {
    /// Adds a later change of the same profile, made in the same manner.
    fn absorb(&mut self, later: Self)
    where
        Self: Sized,
    {
        let earlier = &mut self.upsert;
        let later_upsert = later.upsert;
        let is_once = earlier.manner.is_once;
        let merged = Attributes::merged(
            earlier.attributes.as_ref(),
            later_upsert.attributes.as_ref(),
            is_once,
        );
        match merged {
            Ok(merged) => earlier.attributes = merged,
            // Each is within the limits, both are not: what came first stays.
            Err(fault) => {
                tracing::warn!(%fault, "traits of one person cannot be merged, the later ones are left out");
            }
        }
        let keeps_addresses = earlier.manner.keeps_addresses();
        let keeps = |has: bool| keeps_addresses && has;
        if later_upsert.email.is_some() && !keeps(earlier.email.is_some()) {
            earlier.email = later_upsert.email;
        }
        if later_upsert.phone.is_some() && !keeps(earlier.phone.is_some()) {
            earlier.phone = later_upsert.phone;
        }
        self.keys.extend(later.keys);
        self.links.extend(later.links);
    }
}

fn change<'c>(call: &ProfileCall<'c>) -> Change<'c> {
    let filled = |text: &'c str| (!text.is_empty()).then_some(text);
    let attributes = filled(call.attributes).filter(|text| *text != "{}");
    let manner = Manner {
        is_public: call.is_public,
        is_once: call.is_once,
        is_known_only: call.is_known_only,
    };
    let link = AnonymousId { id: call.anonymous_id, at_ms: call.timestamp_ms };
    Change {
        upsert: Upsert {
            key: Key::External(call.user_id.to_owned()),
            // It was checked before the call was recorded.
            email: filled(call.email).and_then(|text| text.parse().ok()),
            phone: filled(call.phone).map(str::to_owned),
            attributes: attributes.and_then(|text| Attributes::read_text(text).ok()),
            manner,
        },
        keys: vec![key(call)],
        links: filled(call.anonymous_id).map(|_| link).into_iter().collect(),
    }
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
    use super::*;

    fn set<'c>(user_id: &'c str, call_id: &'c str, attributes: &'c str) -> ProfileCall<'c> {
        ProfileCall { user_id, call_id, attributes, ..ProfileCall::default() }
    }

    /// What the steps do, as texts.
    fn shown(calls: &[ProfileCall<'_>]) -> Vec<Vec<String>> {
        let show = |change: &Change<'_>| {
            let attributes = change.upsert.attributes.as_ref().map_or("", Attributes::as_str);
            format!("{} {attributes} {}", change.upsert.external_id().unwrap(), change.keys.len())
        };
        steps(calls.iter().copied())
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
        let Some(Step::Changes(changes)) = steps(calls.into_iter()).pop() else { panic!() };
        assert_eq!(changes[0].upsert.phone.as_deref(), Some("1"), "an address that is known stays");
        let once = |call: ProfileCall<'static>| ProfileCall { is_once: true, ..call };
        let calls =
            [once(set("ann", "1", r#"{"a":1}"#)), once(set("ann", "2", r#"{"a":2,"b":2}"#))];
        assert_eq!(shown(&calls), [[r#"ann {"a":1,"b":2} 2"#]]);
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
    fn a_step_has_a_bounded_number_of_changes() {
        let users: Vec<String> = (0..=CHANGES_MAX).map(|number| number.to_string()).collect();
        let calls: Vec<_> = users.iter().map(|user| set(user, "1", "{}")).collect();
        let sizes: Vec<usize> = shown(&calls).iter().map(Vec::len).collect();
        assert_eq!(sizes, [CHANGES_MAX, 1]);
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
