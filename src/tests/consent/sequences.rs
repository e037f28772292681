//! Random sequences of calls against a small model of consent and suppressions.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use super::fixture::{self, Contact, delete_with};
use crate::kit::Workspace;

/// Sequences tried, and calls in each.
const SEQUENCES: usize = 12;
const CALLS: usize = 40;

/// Two contacts that share an address, and one list.
#[derive(Debug, Clone)]
enum Call {
    Set(usize, &'static str, &'static str),
    Join(usize),
    Leave(usize),
    HardBounce,
    ClearBounce(usize),
    Suppress(&'static str, &'static str),
    Lift(&'static str),
}

fn calls() -> impl Strategy<Value = Call> {
    let contact = 0..2_usize;
    let channel = prop_oneof![Just("email"), Just("sms"), Just("push")];
    let ledger = prop_oneof![Just("email"), Just("sms")];
    let status = prop_oneof![Just("optedIn"), Just("subscribed"), Just("unsubscribed")];
    let reason = prop_oneof![Just("manual"), Just("unsubscribe")];
    prop_oneof![
        5 => (contact.clone(), channel, status).prop_map(|(c, channel, s)| Call::Set(c, channel, s)),
        2 => contact.clone().prop_map(Call::Join),
        2 => contact.clone().prop_map(Call::Leave),
        1 => Just(Call::HardBounce),
        1 => contact.prop_map(Call::ClearBounce),
        2 => (ledger.clone(), reason).prop_map(|(ledger, reason)| Call::Suppress(ledger, reason)),
        1 => ledger.prop_map(Call::Lift),
    ]
}

/// What there should be.
#[derive(Debug, Default)]
struct Model {
    channels: BTreeMap<(usize, &'static str), &'static str>,
    lists: BTreeMap<usize, &'static str>,
    bounces: BTreeMap<usize, u32>,
    ledgers: BTreeMap<&'static str, BTreeSet<&'static str>>,
    entries: [usize; 2],
}

impl Model {
    fn take(&mut self, call: &Call) {
        match *call {
            Call::Set(contact, channel, status) => {
                self.channels.insert((contact, channel), status);
                self.entries[contact] += 1;
                if channel != "push" {
                    let ledger = self.ledgers.entry(channel).or_default();
                    if status == "unsubscribed" {
                        ledger.insert("unsubscribe");
                    } else {
                        ledger.retain(|reason| !["unsubscribe", "manual"].contains(reason));
                    }
                }
            }
            Call::Join(contact) => {
                self.lists.insert(contact, "subscribed");
                self.entries[contact] += 1;
            }
            Call::Leave(contact) => {
                self.lists.insert(contact, "unsubscribed");
                self.entries[contact] += 1;
            }
            Call::HardBounce => {
                self.ledgers.entry("email").or_default().insert("hard_bounce");
                for contact in 0..2 {
                    *self.bounces.entry(contact).or_default() += 1;
                    self.entries[contact] += 1;
                }
            }
            Call::ClearBounce(contact) => {
                self.bounces.remove(&contact);
                self.ledgers.entry("email").or_default().remove("hard_bounce");
                self.entries[contact] += 1;
            }
            Call::Suppress(ledger, reason) => {
                self.ledgers.entry(ledger).or_default().insert(reason);
            }
            Call::Lift(ledger) => {
                let rows = std::mem::take(self.ledgers.entry(ledger).or_default());
                if rows.contains("hard_bounce") {
                    for (contact, _) in std::mem::take(&mut self.bounces) {
                        self.entries[contact] += 1;
                    }
                }
            }
        }
    }
}

struct World {
    workspace: Workspace,
    contacts: [Contact; 2],
    list: kernel::ListId,
}

impl World {
    async fn new() -> Self {
        let workspace = Workspace::new().await;
        let ann = Contact::new(&workspace).await;
        let twin = Contact::with(&workspace, &ann.email, &ann.phone).await;
        let list = fixture::list(workspace.id, false).await;
        Self { workspace, contacts: [ann, twin], list }
    }

    fn identifier(&self, ledger: &str) -> &str {
        let contact = &self.contacts[0];
        if ledger == "email" { &contact.email } else { &contact.phone }
    }

    async fn make(&self, call: &Call) {
        let api = &self.workspace.api;
        let list = format!("/lists/{}", self.list);
        match *call {
            Call::Set(contact, channel, status) => {
                self.contacts[contact].set(api, channel, status).await;
            }
            Call::Join(contact) => {
                let path = self.contacts[contact].path(&list);
                api.post(&path, &json!({"channel": "email"}), 200).await;
            }
            Call::Leave(contact) => {
                let path = self.contacts[contact].path(&list);
                delete_with(api, &path, &json!({"channel": "email"}), 200).await;
            }
            Call::HardBounce => {
                let body = json!({"identifier": self.identifier("email")});
                let request = api.request(reqwest::Method::POST, "/suppressions/hard-bounce");
                assert!(request.json(&body).send().await.unwrap().status().is_success());
            }
            Call::ClearBounce(contact) => {
                let path = self.contacts[contact].path("/clear-bounce");
                api.post(&path, &json!({}), 200).await;
            }
            Call::Suppress(ledger, reason) => {
                let body = json!({"channel": ledger, "identifier": self.identifier(ledger), "reason": reason});
                let request = api.request(reqwest::Method::POST, "/suppressions");
                assert!(request.json(&body).send().await.unwrap().status().is_success());
            }
            Call::Lift(ledger) => {
                let identifier = self.identifier(ledger).replace('+', "%2B");
                let path = format!("/suppressions/{identifier}?channel={ledger}");
                api.send(api.request(reqwest::Method::DELETE, &path), 200).await;
            }
        }
    }

    async fn compare(&self, model: &Model, after: &[Call]) {
        let api = &self.workspace.api;
        for (number, contact) in self.contacts.iter().enumerate() {
            let answer = api.get(contact.path(""), 200).await.json();
            for channel in ["email", "sms", "push"] {
                let expected = model.channels.get(&(number, channel));
                let seen = answer["channels"][channel]["status"].as_str();
                assert_eq!(seen, expected.copied(), "{channel} of {number} after {after:?}");
            }
            let list = answer["lists"].get(0).and_then(|row| row["status"].as_str());
            assert_eq!(list, model.lists.get(&number).copied(), "{after:?}");
            let bounces = model.bounces.get(&number).copied().unwrap_or_default();
            let email = &answer["channels"]["email"];
            assert_eq!(
                email["bounceCount"].as_u64().unwrap_or_default(),
                u64::from(bounces),
                "{after:?}"
            );
            let valid = api.get(contact.path("/email-valid"), 200).await.json()["valid"].clone();
            assert_eq!(valid, json!(bounces == 0), "{after:?}");
            let history = api.get(contact.path("/history?limit=1"), 200).await.json();
            assert_eq!(history["total"], model.entries[number], "{after:?}");
        }
        for ledger in ["email", "sms"] {
            let page = api.get(format!("/suppressions?channel={ledger}"), 200).await.json();
            let reason = |row: &Value| row["reason"].as_str().unwrap().to_owned();
            let seen: BTreeSet<String> =
                page["items"].as_array().unwrap().iter().map(reason).collect();
            let expected = model.ledgers.get(ledger).cloned().unwrap_or_default();
            assert_eq!(
                seen,
                expected.into_iter().map(str::to_owned).collect(),
                "{ledger} {after:?}"
            );
        }
    }
}

#[tokio::test]
async fn random_calls_of_consent_and_suppressions_match_a_model() {
    let mut runner = TestRunner::new(Config::default());
    for _ in 0..SEQUENCES {
        let sequence =
            prop::collection::vec(calls(), CALLS).new_tree(&mut runner).unwrap().current();
        let (world, mut model) = (World::new().await, Model::default());
        for (number, call) in sequence.iter().enumerate() {
            world.make(call).await;
            model.take(call);
            world.compare(&model, &sequence[..=number]).await;
        }
    }
}
