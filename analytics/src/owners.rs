//! Which profile an identifier leads to, as SQL: one definition for insights, exports, audiences and callers' own SQL.

const IDENTIFIERS: &str = include_str!("sql/identifiers.sql");
const LINKED: &str = include_str!("sql/identifiers_linked.sql");

/// The profiles of all identifiers of a workspace: `token`, `profile` (12 bytes) and `place`. `$tables$` stands before
/// names of tables, and `$workspace$` for the workspace.
pub fn identifiers() -> String {
    plain(IDENTIFIERS).replace("$linked$", &plain(LINKED))
}

/// Those of identifiers that are not ids of the profiles themselves, in the same form.
pub fn linked() -> String {
    plain(LINKED)
}

/// [`identifiers`] in a statement with the parameter `workspace`.
pub(crate) fn identifiers_of_workspace() -> String {
    of_workspace(&identifiers())
}

/// [`linked`] in a statement with the parameter `workspace`.
pub(crate) fn linked_of_workspace() -> String {
    of_workspace(&linked())
}

fn of_workspace(sql: &str) -> String {
    sql.replace("$tables$.", "").replace("$workspace$", "{workspace:UUID}")
}

/// Without comments: engines keep the text of a view, and marks in comments are no marks.
fn plain(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_is_limited_to_the_workspace() {
        let sql = identifiers();
        let tables = sql.matches("FROM $tables$.").count();
        assert_eq!(tables, sql.matches("workspace_id = $workspace$").count());
        assert!(sql.ends_with(&linked()) && !sql.contains("$linked$"));
        let filled = identifiers_of_workspace();
        assert!(!filled.contains('$'), "{filled}");
    }
}
