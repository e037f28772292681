//! Random histories of 200 people against a model of its own.

use std::collections::{BTreeMap, BTreeSet};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Wish, events_of, further, link_all, merge, reads::performed, track};
use crate::{
    kit::{Client, Workspace, eventually, server},
    sdk::Device,
};

const PEOPLE: usize = 200;
const ANONYMOUS: usize = 300;
const STEPS: usize = 1_200;

/// What is seen, and what is bought an hour later.
const EVENTS: [(&str, &str); 2] =
    [("Viewed", "2026-03-01T12:00:00Z"), ("Bought", "2026-03-01T13:00:00Z")];

/// An event, by the numbers of its user and its anonymous id.
#[derive(Debug)]
struct Tracked {
    id: String,
    name: &'static str,
    user: Option<usize>,
    anonymous: Option<usize>,
}

/// Who did something: a person, or a visitor who is no one's anonymous id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Person(usize),
    Visitor(Option<usize>),
}

/// What the contract says, in its own words: who owns an anonymous id, and as whom a profile answers.
#[derive(Debug, Default)]
struct Model {
    owners: BTreeMap<usize, usize>,
    merged: BTreeMap<usize, usize>,
    events: Vec<Tracked>,
}

impl Model {
    fn survivor(&self, person: usize) -> usize {
        self.merged.get(&person).map_or(person, |next| self.survivor(*next))
    }

    fn who(&self, event: &Tracked) -> Who {
        let owner = event.user.or_else(|| self.owners.get(&event.anonymous?).copied());
        owner.map_or(Who::Visitor(event.anonymous), |owner| Who::Person(self.survivor(owner)))
    }

    /// The events of each person that have one of these names.
    fn by_person(&self, names: &[&str]) -> BTreeMap<usize, BTreeSet<String>> {
        let mut all: BTreeMap<usize, BTreeSet<String>> = (0..PEOPLE)
            .filter(|person| !self.merged.contains_key(person))
            .map(|person| (person, BTreeSet::new()))
            .collect();
        for event in self.events.iter().filter(|event| names.contains(&event.name)) {
            if let Who::Person(person) = self.who(event) {
                all.get_mut(&person).unwrap().insert(event.id.clone());
            }
        }
        all
    }

    /// Everyone with an event of this name, visitors too.
    fn did(&self, name: &str) -> BTreeSet<Who> {
        let events = self.events.iter().filter(|event| event.name == name);
        events.map(|event| self.who(event)).collect()
    }
}

/// How an anonymous id is linked.
#[derive(Debug, Clone, Copy)]
enum Way {
    Operation,
    /// An identify or an alias over HTTP, with a public key or a server's.
    Call {
        kind: &'static str,
        is_public: bool,
    },
}

const WAYS: [Way; 5] = [
    Way::Operation,
    Way::Call { kind: "identify", is_public: false },
    Way::Call { kind: "identify", is_public: true },
    Way::Call { kind: "alias", is_public: false },
    Way::Call { kind: "alias", is_public: true },
];

#[derive(Debug)]
enum Step {
    Event(Value),
    Link { anonymous: usize, person: usize, way: Way },
    Merge { from: usize, into: usize, is_by_alias: bool },
}

/// Every other id is random, as SDKs make them up.
fn anonymous_id(number: usize) -> String {
    if number.is_multiple_of(2) {
        format!("a{number}")
    } else {
        format!("{number:08x}-5a0d-4f3e-9d2a-5b6c7d8e{number:04x}")
    }
}

fn event(rng: &mut StdRng, step: usize) -> (Tracked, Value) {
    let (name, timestamp) = EVENTS[usize::from(rng.random_range(0..4) == 0)];
    let (person, visitor) = (rng.random_range(0..PEOPLE), rng.random_range(0..ANONYMOUS));
    let (user, anonymous) = match rng.random_range(0..3) {
        0 => (Some(person), None),
        1 => (None, Some(visitor)),
        _ => (Some(person), Some(visitor)),
    };
    let id = format!("e{step}");
    let mut event = json!({"eventName": name, "clientEventId": id, "timestamp": timestamp});
    if let Some(user) = user {
        event["userId"] = json!(format!("u{user}"));
    }
    if let Some(anonymous) = anonymous {
        event["anonymousId"] = json!(anonymous_id(anonymous));
    }
    (Tracked { id, name, user, anonymous }, event)
}

fn history(rng: &mut StdRng) -> (Model, Vec<Step>) {
    let (mut model, mut steps) = (Model::default(), Vec::new());
    for step in 0..STEPS {
        let person = rng.random_range(0..PEOPLE);
        match rng.random_range(0..10) {
            0..=5 => {
                let (tracked, event) = event(rng, step);
                model.events.push(tracked);
                steps.push(Step::Event(event));
            }
            6..=8 => {
                let anonymous = rng.random_range(0..ANONYMOUS);
                let way = WAYS[rng.random_range(0..WAYS.len())];
                let survivor = model.survivor(person);
                model.owners.entry(anonymous).or_insert(survivor);
                steps.push(Step::Link { anonymous, person, way });
            }
            _ => {
                let into = model.survivor(rng.random_range(0..PEOPLE));
                let from = model.survivor(person);
                if from != into {
                    model.merged.insert(from, into);
                    let is_by_alias = rng.random_range(0..3) > 0;
                    steps.push(Step::Merge { from: person, into, is_by_alias });
                }
            }
        }
    }
    (model, steps)
}

/// Sends calls over HTTP. They are applied in their order, but later than they are answered.
struct Calls<'w> {
    workspace: &'w Workspace,
    server: String,
    app: String,
    sent: usize,
    /// Calls were sent that may not be applied yet.
    is_behind: bool,
}

impl<'w> Calls<'w> {
    async fn of(workspace: &'w Workspace) -> Self {
        let (key, _) = server().key(&workspace.name, "events:write,users:write").await;
        let app = Device::of(workspace).await.key().to_owned();
        Self { workspace, server: key, app, sent: 0, is_behind: false }
    }

    async fn send(&mut self, is_public: bool, mut call: Value) {
        let key = if is_public { &self.app } else { &self.server };
        call["messageId"] = json!(format!("c{}", self.sent));
        self.sent += 1;
        self.is_behind = true;
        let http = Client::anonymous();
        let request = http.request(Method::POST, "/v1/batch").basic_auth(key, Some(""));
        http.send(request.json(&json!({"batch": [call]})), 200).await;
    }

    /// Waits until all calls are applied, before something is changed in another way.
    async fn applied(&mut self) {
        if !self.is_behind {
            return;
        }
        let marker = format!("marker{}", self.sent);
        let last = json!({"type": "identify", "userId": "u0", "anonymousId": marker});
        self.send(false, last).await;
        let linked = format!("anonymous:{marker}");
        eventually("the calls are applied", || async {
            further(self.workspace, "u0").await.contains(&linked).then_some(())
        })
        .await;
        self.is_behind = false;
    }

    async fn link(&mut self, anonymous: usize, person: usize, way: Way, ids: &[String]) {
        let anonymous = anonymous_id(anonymous);
        match way {
            Way::Operation => {
                self.applied().await;
                link_all(self.workspace.id, vec![Wish::new(&anonymous, &ids[person])]).await;
            }
            Way::Call { kind, is_public } => {
                let id = if kind == "alias" { "previousId" } else { "anonymousId" };
                let call = json!({"type": kind, "userId": format!("u{person}"), id: anonymous});
                self.send(is_public, call).await;
            }
        }
    }

    async fn merge(&mut self, from: usize, into: usize, is_by_alias: bool) {
        let (from, into) = (format!("u{from}"), format!("u{into}"));
        if is_by_alias {
            let call = json!({"type": "alias", "previousId": from, "userId": into});
            self.send(false, call).await;
        } else {
            self.applied().await;
            merge(self.workspace, &from, &into).await;
        }
    }
}

/// People who saw something, and those of them who bought something.
async fn funnel(workspace: &Workspace) -> (u64, u64) {
    let question = json!({"steps": [{"eventName": "Viewed"}, {"eventName": "Bought"}],
        "window": {"amount": 1, "unit": "days"}, "from": "2026-03-01", "to": "2026-03-01"});
    let answer = workspace.api.post("/insights/funnels", &question, 200).await.json();
    let people = |step: usize| answer["steps"][step]["people"].as_u64().unwrap();
    (people(0), people(1))
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_of_200_people_count_as_a_model_of_their_own_does() {
    let workspace = Workspace::new().await;
    let users: Value = (0..PEOPLE).map(|n| json!({"externalId": format!("u{n}")})).collect();
    workspace.api.post("/users", &users, 200).await;
    let mut ids = Vec::new();
    for n in 0..PEOPLE {
        let found = workspace.api.get(format!("/users/by-user-id/u{n}"), 200).await.json();
        ids.push(found["id"].as_str().unwrap().to_owned());
    }
    let (model, steps) = history(&mut StdRng::seed_from_u64(20_261_124));
    let mut calls = Calls::of(&workspace).await;
    let mut tracked = 0;
    // Events of neighbouring steps go together: their order among links must not matter.
    let mut events = Vec::new();
    for step in steps {
        match step {
            Step::Event(event) => events.push(event),
            Step::Link { anonymous, person, way } => {
                calls.link(anonymous, person, way, &ids).await;
            }
            Step::Merge { from, into, is_by_alias } => calls.merge(from, into, is_by_alias).await,
        }
        if events.len() >= 100 {
            tracked += events.len();
            track(&workspace, &events, tracked).await;
            events.clear();
        }
    }
    tracked += events.len();
    track(&workspace, &events, tracked).await;
    calls.applied().await;

    let expected = model.by_person(&EVENTS.map(|(name, _)| name));
    for (person, events) in &expected {
        let (found, total) = events_of(&workspace, &ids[*person]).await;
        assert_eq!(total, found.len() as u64);
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), *events, "u{person}");
    }
    // Each merged id answers with the same events.
    for person in model.merged.keys() {
        let survivor = &expected[&model.survivor(*person)];
        let (found, _) = events_of(&workspace, &ids[*person]).await;
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), *survivor, "u{person}");
    }
    let most = expected.values().map(BTreeSet::len).max().unwrap();
    assert!(most > 5 && model.merged.len() > 20, "the history is a trivial one");
    let viewed = model.by_person(&["Viewed"]);
    for n in 0..=most + 1 {
        let matching = viewed.values().filter(|events| events.len() == n).count() as u64;
        eventually(&format!("{matching} people performed it {n} times"), || async {
            let found = performed(&workspace, json!({"count": {"op": "equals", "n": n}})).await;
            (found == matching).then_some(())
        })
        .await;
    }
    let (viewed, bought) = (model.did("Viewed"), model.did("Bought"));
    let both = viewed.intersection(&bought).count() as u64;
    assert!(both > 20 && both < viewed.len() as u64, "the funnel is a trivial one");
    eventually("the funnel counts people", || async {
        (funnel(&workspace).await == (viewed.len() as u64, both)).then_some(())
    })
    .await;
}
