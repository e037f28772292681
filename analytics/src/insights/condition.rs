//! Which events a question is about.

use super::{
    parameters::{Parameters, Value},
    property::PropertyTest,
};
use crate::events::{FIRST_OF_ORDERS, ORDER_COMPLETED};

/// Events by their name and properties.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventChoice {
    /// Their name; any where absent.
    pub event_name: Option<String>,
    /// Rules that all have to hold.
    pub tests: Vec<PropertyTest>,
}

impl EventChoice {
    /// The condition of the choice.
    pub(super) fn sql(&self, parameters: &mut Parameters) -> String {
        let tests = self.tests_sql(parameters);
        match &self.event_name {
            Some(name) => format!("event_name = {} AND {tests}", parameters.text(name)),
            None => tests,
        }
    }

    /// Its condition for events of its name.
    pub(super) fn tests_sql(&self, parameters: &mut Parameters) -> String {
        let tests: Vec<String> = self.tests.iter().map(|it| it.sql(parameters)).collect();
        if tests.is_empty() { "1".to_owned() } else { tests.join(" AND ") }
    }
}

/// A condition that is true of events of these choices, and false of most others: what the key of the table finds.
pub(super) fn of_names(choices: &[&EventChoice], parameters: &mut Parameters) -> String {
    let Some(names) = names(choices) else { return String::new() };
    let names = names.into_iter().map(str::to_owned).collect();
    format!("AND event_name IN {}", parameters.add(Value::Texts(names)))
}

/// Conditions that part the events of these choices into those that are read alike. An order counts once, as its first
/// arrival: which event that is takes longer to find out than all else, so it is asked of orders alone.
pub(super) fn parts(choices: &[&EventChoice]) -> Vec<String> {
    let first = format!("AND {FIRST_OF_ORDERS}");
    match names(choices) {
        Some(names) if !names.contains(&ORDER_COMPLETED) => vec![String::new()],
        Some(names) if names.iter().all(|name| *name == ORDER_COMPLETED) => vec![first],
        _ => vec![
            format!("AND event_name != '{ORDER_COMPLETED}'"),
            format!("AND event_name = '{ORDER_COMPLETED}' {first}"),
        ],
    }
}

/// The names of these choices; none where events of any name count.
fn names<'c>(choices: &[&'c EventChoice]) -> Option<Vec<&'c str>> {
    let names: Option<Vec<&str>> =
        choices.iter().map(|choice| choice.event_name.as_deref()).collect();
    names.filter(|names| !names.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(names: &[Option<&str>]) -> Vec<String> {
        let choice = |name: Option<&str>| EventChoice {
            event_name: name.map(str::to_owned),
            tests: Vec::new(),
        };
        let choices: Vec<EventChoice> = names.iter().copied().map(choice).collect();
        parts(&choices.iter().collect::<Vec<_>>())
    }

    #[test]
    fn first_arrivals_are_looked_for_among_orders_alone() {
        assert_eq!(parts_of(&[Some("Seen"), Some("Bought")]), [""]);
        let [orders] = &parts_of(&[Some(ORDER_COMPLETED)])[..] else { panic!("one part") };
        assert!(orders.contains("FROM orders"), "{orders}");
        for names in [&[] as &[Option<&str>], &[None], &[Some("Seen"), Some(ORDER_COMPLETED)]] {
            let found = parts_of(names);
            let [others, orders] = &found[..] else { panic!("{found:?}") };
            assert_eq!(others, "AND event_name != 'Order Completed'");
            assert!(orders.starts_with("AND event_name = 'Order Completed' AND "), "{orders}");
            assert!(orders.contains("FROM orders"), "{orders}");
        }
    }
}
