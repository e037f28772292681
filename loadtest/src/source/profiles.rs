//! Synthetic profiles: arrays for `POST /users`, each a pure function of the seed and its number.

use std::fmt::Write as _;

use bytes::Bytes;

use super::dice::Dice;

const FIRST_NAMES: [&str; 24] = [
    "Ann", "Bob", "Carla", "Dieter", "Élodie", "Farid", "Greta", "Hannah", "Ivan", "Jürgen",
    "Karin", "Liam", "Mia", "Noah", "Olivia", "Paul", "Quentin", "Rosa", "Sofia", "Tom", "Uwe",
    "Vera", "William", "Zoë",
];
/// Joined with a second part, so that a whole name is rare and its parts are common.
const LAST_NAMES: [&str; 16] = [
    "Smith", "Müller", "Rossi", "Dupont", "Nguyen", "Jones", "Taylor", "Brown", "Fischer", "Weber",
    "Meyer", "Wagner", "Becker", "Koch", "Bauer", "Richter",
];
const LAST_NAME_ENDS: [&str; 16] = [
    "", "s", "son", "mann", "berg", "stein", "feld", "wood", "ford", "ley", "ton", "ini", "ova",
    "sen", "quist", "dahl",
];
const COUNTRIES: [&str; 6] = ["DE", "FR", "GB", "US", "IT", "SE"];
const PLANS: [&str; 3] = ["free", "pro", "team"];

/// About the bytes of a profile that is made.
const ELEMENT_BYTES: u64 = 320;

/// Makes profiles numbered from 0, and arrays of them.
#[derive(Clone, Copy, Debug)]
pub struct Profiles {
    /// Decides which profiles are updated and with what.
    pub seed: u64,
    /// Elements of an array.
    pub batch: u64,
    /// Share of an array's elements that update a profile made before.
    pub updates: f64,
    /// Profiles that are there already; new ones are numbered from here.
    pub present: u64,
}

/// An array, ready to be sent.
#[derive(Clone, Debug)]
pub struct ProfileBatch {
    pub body: Bytes,
    /// Elements of it that make a profile.
    pub creates: u64,
}

impl Profiles {
    /// Elements of an array that make a profile.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of at most a thousand"
    )]
    pub fn creates(&self) -> u64 {
        (self.batch as f64 * (1.0 - self.updates)).round() as u64
    }

    /// The array of this number. Its updates are of profiles that arrays before it made.
    pub fn batch(&self, number: u64) -> ProfileBatch {
        let creates = self.creates();
        let first_new = self.present + number * creates;
        let mut dice = Dice::new(self.seed ^ number.rotate_left(32));
        let mut body =
            String::with_capacity(usize::try_from(self.batch * ELEMENT_BYTES).unwrap_or(0));
        body.push('[');
        for index in 0..self.batch {
            if index > 0 {
                body.push(',');
            }
            if index < creates || first_new == 0 {
                create(&mut body, first_new + index);
            } else {
                let known = dice.below(first_new);
                update(&mut body, known, dice.below(1_000_000));
            }
        }
        body.push(']');
        ProfileBatch { body: Bytes::from(body), creates }
    }
}

/// Writes the profile of this number in full.
fn create(body: &mut String, number: u64) {
    let mut dice = Dice::new(number);
    let first = dice.pick(&FIRST_NAMES);
    let last = dice.pick(&LAST_NAMES);
    let end = dice.pick(&LAST_NAME_ENDS);
    let (country, plan) = (dice.pick(&COUNTRIES), dice.pick(&PLANS));
    let (phone, score) = (dice.below(1_000_000_000), dice.below(1000));
    let written = write!(
        body,
        "{{\"externalId\":\"customer-{number}\",\"email\":\"user.{number}@example.test\",\
         \"phone\":\"+4915{phone:09}\",\"attributes\":{{\"firstName\":\"{first}\",\
         \"lastName\":\"{last}{end}\",\"country\":\"{country}\",\"language\":\"en\",\
         \"timezone\":\"Europe/Berlin\",\"plan\":\"{plan}\",\"score\":{score},\
         \"signedUpAt\":\"2026-03-01T12:00:00Z\",\"tags\":[\"a\",\"b\"]}}}}"
    );
    debug_assert!(written.is_ok(), "a string takes everything");
}

/// Writes a change of what programs change often.
fn update(body: &mut String, number: u64, spent: u64) {
    let written = write!(
        body,
        "{{\"externalId\":\"customer-{number}\",\"attributes\":{{\"spent\":{spent},\
         \"lastSeenAt\":\"2026-11-21T12:00:00Z\"}}}}"
    );
    debug_assert!(written.is_ok(), "a string takes everything");
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn arrays_make_each_profile_once_and_update_only_those_made() {
        let profiles = Profiles { seed: 1, batch: 10, updates: 0.5, present: 20 };
        let mut made: Vec<u64> = (0..20).collect();
        for number in 0..5 {
            let batch = profiles.batch(number);
            assert_eq!(batch.creates, 5);
            let elements: Vec<Value> = serde_json::from_slice(&batch.body).unwrap();
            assert_eq!(elements.len(), 10);
            let known = made.clone();
            for element in elements {
                let id = element["externalId"].as_str().unwrap();
                let id: u64 = id.strip_prefix("customer-").unwrap().parse().unwrap();
                if element.get("email").is_some() {
                    made.push(id);
                } else {
                    assert!(known.contains(&id), "{id}");
                }
            }
        }
        assert_eq!(made, (0..45).collect::<Vec<_>>());
        assert_eq!(profiles.batch(3).body, profiles.batch(3).body);
    }
}
