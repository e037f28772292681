//! The views that callers see, as statements for the engine.

use analytics::{
    owners,
    sql_access::{self, DEFINER_USER, ViewDatabases},
};

use crate::{settings::Bounds, statement::functions::TABLE_FUNCTIONS};

const OF_MILLRACE: [&str; 6] = [
    include_str!("sql/campaigns.sql"),
    include_str!("sql/events.sql"),
    include_str!("sql/message_events.sql"),
    include_str!("sql/messages.sql"),
    include_str!("sql/orders.sql"),
    include_str!("sql/people.sql"),
];
const OF_SYSTEM: [&str; 5] = [
    include_str!("sql/system_columns.sql"),
    include_str!("sql/system_databases.sql"),
    include_str!("sql/system_settings.sql"),
    include_str!("sql/system_table_functions.sql"),
    include_str!("sql/system_tables.sql"),
];
const PEOPLE_OF_EVENTS: &str = include_str!("sql/people_of_events.sql");
const EVENTS_OF_ORDERS: &str = include_str!("sql/events_of_orders.sql");
const RESOLVED_PERSON: &str = include_str!("sql/resolved_person.sql");
const IDENTIFIERS: &str = include_str!("sql/identifiers.sql");
const MERGED_PEOPLE: &str = include_str!("sql/merged_people.sql");
const PERSON: &str = "person_id String COMMENT 'Whose it is: the internal id of a profile, 24 hex digits, \
    else the identifier itself',";

/// What the statements name.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// The database of the tables.
    pub(crate) tables: String,
    pub(crate) databases: ViewDatabases,
    /// ` ON CLUSTER …`, or nothing.
    pub(crate) on_cluster: String,
}

/// Statements that make the databases and the views, or replace them.
pub(crate) fn statements(place: &Location, bounds: &Bounds) -> Vec<String> {
    let Location { databases, on_cluster, .. } = place;
    let made =
        databases.all().map(|name| format!("CREATE DATABASE IF NOT EXISTS `{name}` {on_cluster}"));
    // Comments name the marks, too: they go first.
    let person = format!("{} AS person_id,", without_comments(RESOLVED_PERSON));
    let people_of_events = without_comments(PEOPLE_OF_EVENTS);
    let people_of_orders = format!("{}\n{people_of_events}", without_comments(EVENTS_OF_ORDERS));
    let whole = OF_MILLRACE.map(without_comments).map(|view| {
        let is_of_orders = view.contains("FROM $tables$.orders");
        let people = if is_of_orders { &people_of_orders } else { &people_of_events };
        let view = view.replace("$people$", people).replace("$person$", PERSON);
        filled(&view.replace("$resolved$", &person), &databases.whole, place)
    });
    let plain = OF_MILLRACE.map(without_comments).map(|view| {
        let view = view.replace("$people$", "").replace("$person$", "").replace("$resolved$", "");
        filled(&view, &databases.without_people, place)
    });
    let table_functions = TABLE_FUNCTIONS.map(|name| format!("'{name}'")).join(", ");
    let system = OF_SYSTEM.map(without_comments).map(|view| {
        let view = view
            .replace("$changeable$", &bounds.changeable_in_sql())
            .replace("$least$", &bounds.least_in_sql())
            .replace("$most$", &bounds.most_in_sql())
            .replace("$table_functions$", &table_functions);
        filled(&view, &databases.whole, place)
    });
    made.into_iter().chain(whole).chain(plain).chain(system).collect()
}

fn filled(view: &str, views: &str, place: &Location) -> String {
    view.replace("$merged$", &without_comments(MERGED_PEOPLE))
        .replace("$identifiers$", &without_comments(IDENTIFIERS))
        .replace("$owners$", &owners::identifiers())
        .replace("$workspace$", &sql_access::workspace_in_sql())
        .replace("$tables$", &format!("`{}`", place.tables))
        .replace("$views$", &format!("`{views}`"))
        .replace("$views_text$", &format!("'{views}'"))
        .replace("$views_system$", &format!("`{}`", place.databases.system))
        .replace("$on_cluster$", &place.on_cluster)
        .replace("$definer$", DEFINER_USER)
}

/// The engine keeps the text of a view; comments are for those who read the files.
fn without_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{SYSTEM_VIEWS, VIEWS};

    #[test]
    fn every_statement_is_filled_in() {
        let place = Location {
            tables: "millrace".to_owned(),
            databases: ViewDatabases::of("millrace"),
            on_cluster: String::new(),
        };
        let statements = statements(&place, &Bounds::for_tests());
        assert_eq!(statements.len(), 3 + 2 * VIEWS.len() + SYSTEM_VIEWS.len());
        for statement in &statements {
            assert!(statement.starts_with("CREATE ") && !statement.contains('$'), "{statement}");
        }
        for table in sql_access::TABLES {
            let name = format!("`millrace`.{table}");
            assert!(statements.iter().any(|it| it.contains(&name)), "{table} is read by no view");
        }
    }

    #[test]
    fn each_view_limits_each_of_its_tables_to_the_workspace() {
        for view in OF_MILLRACE.iter().chain(&[
            PEOPLE_OF_EVENTS,
            EVENTS_OF_ORDERS,
            MERGED_PEOPLE,
            &owners::identifiers(),
        ]) {
            let tables = view.matches("FROM $tables$.").count();
            assert_eq!(tables, view.matches("workspace_id = $workspace$").count(), "{view}");
        }
    }
}
