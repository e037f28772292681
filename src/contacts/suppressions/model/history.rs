//! The history of an identifier: when rows of it were added to a ledger, and when they were removed.

use kernel::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Reason, Scope};

/// What happened to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SuppressionAction)]
pub enum HistoryAction {
    Added,
    Removed,
}

impl HistoryAction {
    const NAMED: &'static [(&'static str, Self)] =
        &[("added", Self::Added), ("removed", Self::Removed)];

    /// The action with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, action)| *action)
    }
}

/// A row that was added or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    pub action: HistoryAction,
    pub at: Timestamp,
    pub reason: Reason,
    /// Of an addition the source of the row. Of a removal by which way it came; none where the platform removed it.
    pub source: Option<String>,
    pub scope: Scope,
    /// The credential that added or removed the row, where it is known.
    pub actor: Option<String>,
}
