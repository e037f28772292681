//! Which profile an identifier belongs to: a copy of what PostgreSQL knows, for questions about events.

use uuid::Uuid;

use crate::{Analytics, error::AnalyticsError};

const STORE: &str = include_str!("sql/identities_store.sql");
/// Most rows of one statement.
pub const ROWS_MAX: usize = 5_000;

/// An identifier, and its profile as of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityRow {
    /// The workspace that the identifier is in.
    pub workspace: Uuid,
    /// `anonymous`, `alias`, `external` or `internal`.
    pub kind: String,
    /// The identifier as it was sent.
    pub id: String,
    /// Internal id of the profile; empty where it was removed from its profile.
    pub user_id: String,
    /// Whether an anonymous id also stands for the profile as the `userId` of events.
    pub names_users: bool,
    /// Of two rows of an identifier the larger counts.
    pub version: u64,
}

/// Stores rows, at most [`ROWS_MAX`]. Storing a row again changes nothing.
///
/// # Errors
/// When ClickHouse is away.
pub async fn store(analytics: &Analytics, rows: &[IdentityRow]) -> Result<(), AnalyticsError> {
    let rows = &rows[..rows.len().min(ROWS_MAX)];
    if rows.is_empty() {
        return Ok(());
    }
    let texts = |text: fn(&IdentityRow) -> String| rows.iter().map(text).collect::<Vec<String>>();
    let name_users: Vec<u8> = rows.iter().map(|row| u8::from(row.names_users)).collect();
    let versions: Vec<u64> = rows.iter().map(|row| row.version).collect();
    analytics
        .client()
        .query_raw(STORE)
        .with_setting("async_insert", "0")
        .param("workspaces", texts(|row| row.workspace.to_string()))
        .param("types", texts(|row| row.kind.clone()))
        .param("ids", texts(|row| row.id.clone()))
        .param("users", texts(|row| row.user_id.clone()))
        .param("name_users", name_users)
        .param("versions", versions)
        .execute()
        .await?;
    Ok(())
}
