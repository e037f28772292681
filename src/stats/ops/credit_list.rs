//! Credits, added up by message and goal: as many as there are messages with outcomes, however many events they had.

use std::collections::{HashMap, hash_map::Entry};

use crate::model::outcome::{Credit, Goal};

/// What is credited to a message, apart from the amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum GoalKey {
    Conversion(usize),
    /// By the number of the currency.
    Order(usize),
}

/// Credits while they are added up.
#[derive(Debug, Default)]
pub(super) struct CreditList {
    credits: Vec<Credit>,
    /// Where the sum of a message and goal is; none where credits stay single.
    places: Option<HashMap<(u128, GoalKey), usize>>,
    currencies: HashMap<String, usize>,
}

impl CreditList {
    pub(super) fn new(is_added_up: bool) -> Self {
        Self { places: is_added_up.then(HashMap::new), ..Self::default() }
    }

    pub(super) fn add(&mut self, credit: Credit) {
        let key = self.key(&credit);
        let Some(places) = &mut self.places else { return self.credits.push(credit) };
        match places.entry(key) {
            Entry::Occupied(place) => self.credits[*place.get()].add(&credit),
            Entry::Vacant(place) => {
                place.insert(self.credits.len());
                self.credits.push(credit);
            }
        }
    }

    fn key(&mut self, credit: &Credit) -> (u128, GoalKey) {
        let goal = match &credit.goal {
            Goal::Conversion(number) => GoalKey::Conversion(*number),
            Goal::Order { currency, .. } => GoalKey::Order(self.number_of(currency)),
        };
        (credit.message, goal)
    }

    fn number_of(&mut self, currency: &str) -> usize {
        if let Some(number) = self.currencies.get(currency) {
            return *number;
        }
        let number = self.currencies.len();
        self.currencies.insert(currency.to_owned(), number);
        number
    }

    pub(super) fn into_credits(self) -> Vec<Credit> {
        self.credits
    }
}

/// The credits of both kinds while they are added up.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) credited: CreditList,
    pub(super) by_assignment: CreditList,
    /// Number of events so far.
    pub(super) events: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::outcome::{MessageGroup, Treatment};

    fn credit(message: u128, at_ms: i64, goal: Goal) -> Credit {
        let group = MessageGroup { variant: 1, occurrence: 1, treatment: Treatment::Sent };
        let event = usize::try_from(at_ms).unwrap();
        Credit { message, person: [1; 12], group, sent_ms: 0, at_ms, event, part: 0.5, goal }
    }

    fn order(currency: &str, amount: f64) -> Goal {
        Goal::Order { currency: currency.to_owned(), amount }
    }

    fn all() -> Vec<Credit> {
        vec![
            credit(1, 9, order("EUR", 100.0)),
            credit(1, 3, order("EUR", 20.0)),
            credit(1, 5, order("USD", 7.0)),
            credit(1, 4, Goal::Conversion(0)),
            credit(2, 2, Goal::Conversion(0)),
            credit(1, 6, Goal::Conversion(0)),
            credit(1, 1, Goal::Conversion(1)),
        ]
    }

    #[test]
    fn credits_of_a_message_are_added_up_by_goal_and_currency() {
        let mut list = CreditList::new(true);
        for credit in all() {
            list.add(credit);
        }
        let found: Vec<(u128, i64, f64, Goal)> = list
            .into_credits()
            .into_iter()
            .map(|it| (it.message, it.at_ms, it.part, it.goal))
            .collect();
        let expected = [
            (1, 3, 1.0, order("EUR", 120.0)),
            (1, 5, 0.5, order("USD", 7.0)),
            (1, 4, 1.0, Goal::Conversion(0)),
            (2, 2, 0.5, Goal::Conversion(0)),
            (1, 1, 0.5, Goal::Conversion(1)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn credits_stay_single_where_each_event_is_shown() {
        let mut list = CreditList::new(false);
        for credit in all() {
            list.add(credit);
        }
        assert_eq!(list.into_credits(), all());
    }
}
