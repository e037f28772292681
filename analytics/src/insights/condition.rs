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
        let name = self.event_name.as_ref().map(|name| {
            let name = parameters.text(name);
            format!("event_name = {name}")
        });
        let tests: Vec<String> = self.tests.iter().map(|it| it.sql(parameters)).collect();
        let all: Vec<String> = name.into_iter().chain(tests).collect();
        if all.is_empty() { "1".to_owned() } else { all.join(" AND ") }
    }
}

/// A condition that is true of events of these choices, and false of most others: what the key of the table finds. An
/// order counts once, as its first arrival.
pub(super) fn any_of(choices: &[&EventChoice], parameters: &mut Parameters) -> String {
    let names: Option<Vec<&str>> =
        choices.iter().map(|choice| choice.event_name.as_deref()).collect();
    let names = names.filter(|names| !names.is_empty());
    let has_orders = names.as_ref().is_none_or(|names| names.contains(&ORDER_COMPLETED));
    let mut conditions = Vec::new();
    if let Some(names) = names {
        let names = names.into_iter().map(str::to_owned).collect();
        conditions.push(format!("event_name IN {}", parameters.add(Value::Texts(names))));
    }
    if has_orders {
        conditions.push(format!("(event_name != '{ORDER_COMPLETED}' OR {FIRST_OF_ORDERS})"));
    }
    conditions.iter().map(|it| format!("AND {it}")).collect::<Vec<_>>().join("\n        ")
}
