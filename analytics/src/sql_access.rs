//! What callers who ask in SQL may reach: the names that the embedded engine's configuration, the views and the SQL
//! listener share.
//!
//! Such a session has one role ([`READER_ROLE`]), which reads views alone. Their definer is [`DEFINER_USER`], whom
//! row policies limit to the workspace that the session's `log_comment` names: [`MarkKey`].

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// The role of such sessions.
pub const READER_ROLE: &str = "millrace_sql_reader";
/// The definer of the views (`SQL SECURITY DEFINER`). No caller can be this user.
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
    /// Views with all of their columns.
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

    /// Names of all three databases.
    pub fn all(&self) -> [&str; 3] {
        [&self.whole, &self.without_people, &self.system]
    }
}

/// The beginning of the `log_comment` of a session: its workspace, and the statement that runs in it.
pub fn mark(workspace: Uuid, statement: Uuid) -> String {
    format!("{MARK}{workspace}:{statement}")
}

/// The workspace that the session's mark names, in SQL. Of any other session the nil id, which no workspace has.
pub fn workspace_in_sql() -> String {
    let begin = MARK.len() + 1;
    format!("toUUIDOrZero(substring({COMMENT}, {begin}, 36))")
}

/// Signs marks. The engine applies `SETTINGS` within a subquery without a look at `readonly`: a caller could
/// name another workspace there, were it not for the signature, which row policies check.
#[derive(Clone)]
pub struct MarkKey(String);

impl MarkKey {
    /// The key of those who know the engine's password.
    pub fn of(password: &str) -> Self {
        Self(digest(&format!("key of millrace-sql marks:{password}")))
    }

    /// The `log_comment` of a session: its mark and the signature.
    pub fn signed(&self, workspace: Uuid, statement: Uuid) -> String {
        let mark = mark(workspace, statement);
        let signature = digest(&format!("{key}{mark}{key}", key = self.0));
        format!("{mark}:{signature}")
    }

    /// The condition of row policies of [`TABLES`], in SQL.
    pub fn rows_in_sql(&self) -> String {
        let (key, signature) = (&self.0, MARK_LENGTH + 2);
        format!(
            "workspace_id = if(hex(SHA256(concat('{key}', substring({COMMENT}, 1, {MARK_LENGTH}), '{key}'))) = \
             substring({COMMENT}, {signature}, {DIGEST_LENGTH}), {}, toUUID('{}'))",
            workspace_in_sql(),
            Uuid::nil()
        )
    }
}

impl std::fmt::Debug for MarkKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MarkKey")
    }
}

const COMMENT: &str = "getSetting('log_comment')";
/// Of a mark without its signature: two ids and a colon follow its beginning.
const MARK_LENGTH: usize = MARK.len() + 36 + 1 + 36;
const DIGEST_LENGTH: usize = 64;

/// As ClickHouse writes `hex(SHA256(text))`.
fn digest(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::with_capacity(DIGEST_LENGTH), |mut hex, byte| {
        write!(hex, "{byte:02X}").expect("writing to a string cannot fail");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_mark_are_read_where_it_has_them() {
        let key = MarkKey::of("secret");
        let signed = key.signed(Uuid::nil(), Uuid::max());
        assert_eq!(signed.get(MARK.len()..MARK.len() + 36), Some(Uuid::nil().to_string().as_str()));
        assert_eq!(signed.get(..MARK_LENGTH), Some(mark(Uuid::nil(), Uuid::max()).as_str()));
        assert_eq!(signed.len(), MARK_LENGTH + 1 + DIGEST_LENGTH);
        assert!(workspace_in_sql().contains(&format!(", {}, 36", MARK.len() + 1)));
        assert!(key.rows_in_sql().contains(&format!(", {}, 64", MARK_LENGTH + 2)));
    }

    #[test]
    fn signatures_differ_by_workspace_statement_and_key() {
        let (one, other) = (MarkKey::of("secret"), MarkKey::of("another"));
        let signature = |text: String| text.rsplit_once(':').unwrap().1.to_owned();
        let of = |key: &MarkKey, workspace, statement| signature(key.signed(workspace, statement));
        let signed = of(&one, Uuid::nil(), Uuid::nil());
        assert_eq!(signed, of(&MarkKey::of("secret"), Uuid::nil(), Uuid::nil()));
        assert_ne!(signed, of(&one, Uuid::max(), Uuid::nil()));
        assert_ne!(signed, of(&one, Uuid::nil(), Uuid::max()));
        assert_ne!(signed, of(&other, Uuid::nil(), Uuid::nil()));
    }
}
