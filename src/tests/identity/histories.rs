//! Random histories of 200 people against a model of its own.

use std::collections::{BTreeMap, BTreeSet};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};

use super::{Wish, events_of, link_all, merge, reads::performed, track};
use crate::kit::{Workspace, eventually};

const PEOPLE: usize = 200;
const ANONYMOUS: usize = 300;
const STEPS: usize = 1_200;

/// What the contract says, in its own words: who owns an anonymous id, and as whom a profile answers.
#[derive(Debug, Default)]
struct Model {
    owners: BTreeMap<usize, usize>,
    merged: BTreeMap<usize, usize>,
    /// Event id, user and anonymous id.
    events: Vec<(String, Option<usize>, Option<usize>)>,
}

impl Model {
    fn survivor(&self, person: usize) -> usize {
        self.merged.get(&person).map_or(person, |next| self.survivor(*next))
    }

    fn by_person(&self) -> BTreeMap<usize, BTreeSet<String>> {
        let mut all: BTreeMap<usize, BTreeSet<String>> = (0..PEOPLE)
            .filter(|person| !self.merged.contains_key(person))
            .map(|person| (person, BTreeSet::new()))
            .collect();
        for (id, user, anonymous) in &self.events {
            let owner = user.or_else(|| self.owners.get(&(*anonymous)?).copied());
            if let Some(owner) = owner {
                all.get_mut(&self.survivor(owner)).unwrap().insert(id.clone());
            }
        }
        all
    }
}

#[derive(Debug)]
enum Step {
    Event(Value),
    Link { anonymous: usize, person: usize },
    Merge { from: usize, into: usize },
}

fn history(rng: &mut StdRng) -> (Model, Vec<Step>) {
    let (mut model, mut steps) = (Model::default(), Vec::new());
    for step in 0..STEPS {
        let person = rng.random_range(0..PEOPLE);
        let anonymous = rng.random_range(0..ANONYMOUS);
        match rng.random_range(0..10) {
            0..=5 => {
                let id = format!("e{step}");
                let mut event = json!({"eventName": "Viewed", "clientEventId": id,
                    "timestamp": "2026-03-01T12:00:00Z"});
                let (user, anonymous) = match rng.random_range(0..3) {
                    0 => (Some(person), None),
                    1 => (None, Some(anonymous)),
                    _ => (Some(person), Some(anonymous)),
                };
                if let Some(user) = user {
                    event["userId"] = json!(format!("u{user}"));
                }
                if let Some(anonymous) = anonymous {
                    event["anonymousId"] = json!(format!("a{anonymous}"));
                }
                model.events.push((id, user, anonymous));
                steps.push(Step::Event(event));
            }
            6..=8 => {
                let survivor = model.survivor(person);
                model.owners.entry(anonymous).or_insert(survivor);
                steps.push(Step::Link { anonymous, person });
            }
            _ => {
                let into = model.survivor(rng.random_range(0..PEOPLE));
                let from = model.survivor(person);
                if from != into {
                    model.merged.insert(from, into);
                    steps.push(Step::Merge { from: person, into });
                }
            }
        }
    }
    (model, steps)
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
    let mut tracked = 0;
    // Events of neighbouring steps go together: their order among links must not matter.
    let mut events = Vec::new();
    for step in steps {
        match step {
            Step::Event(event) => events.push(event),
            Step::Link { anonymous, person } => {
                link_all(workspace.id, vec![Wish::new(&format!("a{anonymous}"), &ids[person])])
                    .await;
            }
            Step::Merge { from, into } => {
                merge(&workspace, &format!("u{from}"), &format!("u{into}")).await;
            }
        }
        if events.len() >= 100 {
            tracked += events.len();
            track(&workspace, &events, tracked).await;
            events.clear();
        }
    }
    tracked += events.len();
    track(&workspace, &events, tracked).await;

    let expected = model.by_person();
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
    for n in 0..=most + 1 {
        let matching = expected.values().filter(|events| events.len() == n).count() as u64;
        eventually(&format!("{matching} people performed it {n} times"), || async {
            let found = performed(&workspace, json!({"count": {"op": "equals", "n": n}})).await;
            (found == matching).then_some(())
        })
        .await;
    }
}
