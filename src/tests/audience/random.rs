//! Random targetings of random profiles, compared with an independent evaluator.

use std::collections::BTreeSet;

use kernel::{Channel, UserId};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Map, Value, json};

use super::{
    evaluator::matches_targeting,
    fixture::{Asked, Person, TrackedEvent, days_ago, iso, list, track},
};
use crate::kit::{Workspace, unique};

const PEOPLE: usize = 60;
const TARGETINGS: usize = 400;
const SEED: u64 = 20_261_121;

const EVENTS: [&str; 3] = ["Viewed", "Bought", "Left"];
const CHANNELS: [&str; 3] = ["email", "sms", "push"];

struct Dice {
    rng: StdRng,
    lists: Vec<String>,
    people: Vec<Person>,
}

impl Dice {
    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of.choose(&mut self.rng).unwrap().clone()
    }

    fn coin(&mut self, chance: f64) -> bool {
        self.rng.random_bool(chance)
    }

    fn text(&mut self) -> Value {
        json!(
            self.one(&["", "red", "Red", "re%", "r_d", "blue red", "1", "true", "ünï\\", "\"x\""])
        )
    }

    fn number(&mut self) -> Value {
        self.one(&[
            json!(0),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!(-2),
            json!(1_000_000_007_i64),
            json!(1e20),
        ])
    }

    fn date(&mut self) -> Value {
        let days = self.rng.random_range(1..60);
        let recent = iso(days_ago(days) - chrono::Duration::hours(3));
        let text = [
            "2026-03-01",
            "2026-02-28",
            "2026-03-01T00:00:00Z",
            "2026-03-01T23:59:59.999Z",
            "2026-03-02T01:30:00+02:00",
            "2026-02-28T22:30:00-05:00",
            "1999-12-31",
            "9999-12-31",
            &recent,
        ];
        json!(self.one(&text))
    }

    fn plain(&mut self) -> Value {
        match self.rng.random_range(0..4) {
            0 => json!(self.coin(0.5)),
            1 => self.number(),
            _ => self.text(),
        }
    }

    fn value(&mut self) -> Value {
        match self.rng.random_range(0..12) {
            0 => Value::Null,
            1 => json!([self.plain(), self.plain()]),
            2 => json!([[1], {"y": "red"}, null]),
            3 => json!({"y": self.plain(), "0": 1}),
            4 => json!({"y": {"z": self.plain()}}),
            5 | 6 => self.date(),
            7 => json!(self.one(&["2026-02-30", "2026-13-01", "2026-03-01T25:00:00Z", "soon"])),
            _ => self.plain(),
        }
    }

    fn path(&mut self) -> &'static str {
        self.one(&["a", "b", "c", "d", "x", "x.y", "x.y.z", "x.0", "absent", "k\"e'y"])
    }

    fn person(&mut self, number: usize) -> Person {
        let mut attributes = Map::new();
        for _ in 0..self.rng.random_range(0..7) {
            attributes.insert(self.path().to_owned(), self.value());
        }
        let mut person = Person {
            external_id: Some(format!("User-{number}%_{}", unique("r"))),
            email: self.coin(0.7).then(|| format!("ann.{number}_x@example{}.test", number % 3)),
            phone: self.coin(0.5).then(|| format!("+4915{:09}", number * 7919)),
            attributes,
            ..Person::default()
        };
        for channel in CHANNELS {
            if self.coin(0.4) {
                person
                    .channels
                    .push((channel, self.one(&["optedIn", "subscribed", "unsubscribed"])));
            }
        }
        for list in self.lists.clone() {
            if self.coin(0.4) {
                let status = self.one(&["subscribed", "unsubscribed"]);
                person.lists.push((list, self.one(&CHANNELS), status));
            }
        }
        for _ in 0..self.rng.random_range(0..6) {
            let days = self.rng.random_range(0..20);
            person.tracked_events.push(TrackedEvent {
                name: self.one(&EVENTS),
                at: days_ago(days) - chrono::Duration::hours(1),
                properties: json!({"sku": self.one(&["a", "b"]), "n": self.number(), "vip": self.coin(0.5)}),
                tracked_by: self.one(&["external", "external", "internal", "both", "internal as userId"]),
            });
        }
        person
    }

    fn attribute(&mut self) -> Value {
        let operator = self.one(&[
            "equals",
            "not_equals",
            "contains",
            "not_contains",
            "starts_with",
            "ends_with",
            "in",
            "not_in",
            "gt",
            "gte",
            "lt",
            "lte",
            "between",
            "exists",
            "not_exists",
            "before",
            "after",
            "within_last",
            "not_within_last",
            "is_true",
            "is_false",
        ]);
        let mut part = || self.one(&["r", "red", "%", "_", "\\", "\"", "x"]);
        let value = match operator {
            "starts_with" | "ends_with" => json!(part()),
            "contains" | "not_contains" if self.coin(0.6) => {
                json!(self.one(&["r", "red", "%", "_", "\\", "\"", "x"]))
            }
            "contains" | "not_contains" => self.number(),
            "equals" | "not_equals" if self.coin(0.2) => self.date(),
            "equals" | "not_equals" => self.plain(),
            "in" | "not_in" => {
                let values: Vec<Value> = (0..self.one(&[1, 3, 12])).map(|_| self.plain()).collect();
                json!(values)
            }
            "gt" | "gte" | "lt" | "lte" if self.coin(0.5) => self.number(),
            "gt" | "gte" | "lt" | "lte" | "before" | "after" => self.date(),
            "between" if self.coin(0.5) => json!([-2, self.one(&[json!(1), json!(1.5), json!(5)])]),
            "between" => json!(["2026-02-28T12:00:00Z", self.one(&["2026-03-01", "2027-01-01"])]),
            "within_last" | "not_within_last" => self.one(&[
                json!(30),
                json!({"amount": 2, "unit": "weeks"}),
                json!({"amount": 500, "unit": "hours"}),
            ]),
            _ => Value::Null,
        };
        json!({"type": "attribute", "field": self.path(), "operator": operator, "value": value})
    }

    fn profile(&mut self) -> Value {
        let field = self.one(&["email", "phone", "externalId"]);
        let other = self.one(&self.people.clone());
        let whole = match field {
            "email" => other.email,
            "phone" => other.phone,
            _ => other.external_id,
        };
        let whole = whole.unwrap_or_else(|| "unknown".to_owned());
        let operator = self.one(&[
            "equals",
            "not_equals",
            "contains",
            "not_contains",
            "starts_with",
            "ends_with",
            "in",
            "not_in",
            "exists",
            "not_exists",
        ]);
        let value = match operator {
            "exists" | "not_exists" => Value::Null,
            "in" | "not_in" => json!([whole, "unknown"]),
            "equals" | "not_equals" => json!(whole),
            "starts_with" => json!(whole.chars().take(8).collect::<String>()),
            "ends_with" => json!(whole.chars().skip(whole.len() - 6).collect::<String>()),
            _ => json!(self.one(&["1", "_", "%", "example1", "ser"])),
        };
        json!({"type": "profile", "field": field, "operator": operator, "value": value})
    }

    fn event(&mut self) -> Value {
        let mut value = json!({});
        if self.coin(0.5) {
            let n = self.rng.random_range(0..4);
            value["count"] = json!({"op": self.one(&["equals", "gt", "gte", "lt", "lte"]), "n": n});
        }
        if self.coin(0.4) {
            value["withinDays"] = json!(self.one(&[1, 5, 10, 30]));
        }
        if self.coin(0.3) {
            value["properties"] = self.one(&[
                json!({"sku": "a"}),
                json!({"sku": ["a", "b"], "vip": true}),
                json!({"n": [1, -2]}),
                json!({"absent": 1}),
            ]);
        }
        let operator = self.one(&["performed", "not_performed"]);
        json!({"type": "event", "field": self.one(&EVENTS), "operator": operator, "value": value})
    }

    fn filter(&mut self) -> Value {
        match self.rng.random_range(0..20) {
            0..=9 => self.attribute(),
            10..=12 => self.profile(),
            13 | 14 => self.event(),
            15 | 16 => {
                let operator = self.one(&["member", "not_member"]);
                json!({"type": "list", "field": self.one(&self.lists.clone()), "operator": operator})
            }
            17 => {
                json!({"type": "segment", "field": "s", "operator": self.one(&["member", "not_member"])})
            }
            _ => {
                let operator =
                    self.one(&["equals", "not_equals", "in", "not_in", "exists", "not_exists"]);
                let status = || json!("unsubscribed");
                let value = match operator {
                    "equals" | "not_equals" => status(),
                    "in" | "not_in" => json!([status(), "optedIn"]),
                    _ => Value::Null,
                };
                json!({"type": "channel", "field": self.one(&CHANNELS), "operator": operator, "value": value})
            }
        }
    }

    fn groups(&mut self, most: usize) -> Value {
        let count = self.rng.random_range(0..=most);
        (0..count)
            .map(|_| {
                let filters: Vec<Value> =
                    (0..self.rng.random_range(1..4)).map(|_| self.filter()).collect();
                json!({"filters": filters, "operator": self.one(&["AND", "OR"])})
            })
            .collect()
    }

    fn targeting(&mut self) -> Value {
        let mut targeting = json!({
            "filterGroups": self.groups(3),
            "filterOperator": self.one(&["AND", "OR"]),
        });
        if self.coin(0.3) {
            targeting["excludeFilterGroups"] = self.groups(2);
        }
        if self.coin(0.15) {
            let some: Vec<Value> = (0..20)
                .map(|_| {
                    let person = self.one(&self.people.clone());
                    json!(if self.coin(0.5) { person.id } else { person.external_id.unwrap() })
                })
                .collect();
            targeting["userIds"] = json!(some);
        }
        targeting
    }
}

#[tokio::test]
async fn random_targetings_match_an_independent_evaluator() {
    let workspace = Workspace::new().await;
    let lists = vec![list(&workspace, "One").await, list(&workspace, "Two").await];
    let mut dice = Dice { rng: StdRng::seed_from_u64(SEED), lists, people: Vec::new() };
    for number in 0..PEOPLE {
        let mut person = dice.person(number);
        person.make(&workspace).await;
        dice.people.push(person);
    }
    track(&workspace, &dice.people).await;
    let (mut matched, mut tried) = (0, 0);
    for number in 0..TARGETINGS {
        let targeting = dice.targeting();
        let channel = dice.one(&[None, Some(Channel::Email), Some(Channel::Sms)]);
        let expected: BTreeSet<UserId> = dice
            .people
            .iter()
            .filter(|person| matches_targeting(&targeting, person, channel.map(Channel::as_str)))
            .map(|person| person.id.parse().unwrap())
            .collect();
        let mut asked = Asked::new(&targeting);
        asked.channel = channel;
        let found: BTreeSet<UserId> =
            asked.pages(workspace.id, 25).await.into_iter().map(|reached| reached.user).collect();
        assert_eq!(found, expected, "targeting {number} on {channel:?}: {targeting}");
        if targeting.to_string().contains(r#""type":"event""#) {
            asked.without_copies = true;
            let slower = asked.pages(workspace.id, 25).await;
            let slower: BTreeSet<UserId> = slower.into_iter().map(|it| it.user).collect();
            assert_eq!(slower, expected, "without copies {number} on {channel:?}: {targeting}");
            let measured = asked.measure(workspace.id).await;
            assert_eq!(measured.matched, expected.len() as u64, "without copies: {targeting}");
            asked.without_copies = false;
        }
        let measured = asked.measure(workspace.id).await;
        assert_eq!(measured.matched, expected.len() as u64, "{targeting}");
        assert_eq!(measured.matched, measured.reachable + measured.excluded.total(), "{targeting}");
        matched += expected.len();
        tried += PEOPLE;
    }
    // Targetings that match no profile, or every one, would prove nothing.
    assert!((tried / 10..tried * 9 / 10).contains(&matched), "{matched} of {tried}");
}
