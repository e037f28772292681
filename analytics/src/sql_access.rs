//! What callers who ask in SQL may reach: the names that the embedded engine's configuration, the views and the SQL
//! listener share.
//!
//! Such a session has one role ([`READER_ROLE`]), which reads views alone. The views belong to [`DEFINER_USER`], whom
//! row policies limit to the workspace that the session's `log_comment` names: [`mark`].

use uuid::Uuid;

/// The role of such sessions.
pub const READER_ROLE: &str = "millrace_sql_reader";
/// The user to whom the views belong. No caller can be this user.
pub const DEFINER_USER: &str = "millrace_sql_definer";
/// The tables that the views read. Each has a row policy.
pub const TABLES: [&str; 7] =
    ["campaigns", "events", "identities", "message_events", "message_outcomes", "orders", "people"];
/// Tables of `system` that hold nothing of anyone.
pub const OPEN_SYSTEM_TABLES: [&str; 5] =
    ["data_type_families", "formats", "functions", "numbers", "one"];
/// Tables of `system` that views read.
pub const VIEWED_SYSTEM_TABLES: [&str; 3] = ["columns", "settings", "tables"];
/// The beginning of the `log_comment` of such sessions.
pub const MARK: &str = "millrace-sql:";

/// The databases of the views.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewDatabases {
    /// The views.
    pub whole: String,
    /// The views without `person_id`, which costs a join.
    pub without_people: String,
    /// Views in place of tables of `system`.
    pub system: String,
}

impl ViewDatabases {
    /// Those of the views of a database.
    pub fn of(database: &str) -> Self {
        Self {
            whole: format!("{database}_sql"),
            without_people: format!("{database}_sql_plain"),
            system: format!("{database}_sql_system"),
        }
    }

    /// All three.
    pub fn all(&self) -> [&str; 3] {
        [&self.whole, &self.without_people, &self.system]
    }
}

/// The `log_comment` of a session: its workspace, and the statement that runs in it.
pub fn mark(workspace: Uuid, statement: Uuid) -> String {
    format!("{MARK}{workspace}:{statement}")
}

/// The workspace of a session, in SQL. Of any other session the nil id, which no workspace has.
pub fn workspace_in_sql() -> String {
    let begin = MARK.len() + 1;
    format!("toUUIDOrZero(substring(getSetting('log_comment'), {begin}, 36))")
}

/// The condition of row policies of [`TABLES`], in SQL.
pub fn rows_in_sql() -> String {
    format!("workspace_id = {}", workspace_in_sql())
}

/// Whether a session is such a one, in SQL.
pub fn is_restricted_in_sql() -> String {
    format!("startsWith(getSetting('log_comment'), '{MARK}')")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_read_where_the_mark_has_it() {
        let mark = mark(Uuid::nil(), Uuid::max());
        assert_eq!(&mark[MARK.len()..MARK.len() + 36], Uuid::nil().to_string());
        assert!(workspace_in_sql().contains(&format!(", {}, 36", MARK.len() + 1)));
    }
}
