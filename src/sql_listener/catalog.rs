//! Names of the database and views that callers see.

/// The database that callers see.
pub(crate) const DATABASE: &str = "millrace";
/// The views of this database.
pub(crate) const VIEWS: [&str; 6] =
    ["campaigns", "events", "message_events", "messages", "orders", "people"];
/// Views in place of tables of `system`.
pub(crate) const SYSTEM_VIEWS: [&str; 5] =
    ["columns", "databases", "settings", "table_functions", "tables"];
