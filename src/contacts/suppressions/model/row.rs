//! A row of a ledger.

use kernel::{ListId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Identifier, Ledger};

/// Why an identifier is suppressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its owner opted out. A new opt-in deletes it.
    Unsubscribe,
    /// The address does not exist. Only an operator deletes it.
    HardBounce,
    /// Its owner reported a message as spam. Only an operator deletes it.
    Complaint,
    /// An operator added it. A new opt-in deletes it.
    Manual,
}

impl Reason {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("unsubscribe", Self::Unsubscribe),
        ("hard_bounce", Self::HardBounce),
        ("complaint", Self::Complaint),
        ("manual", Self::Manual),
    ];

    /// The reasons that callers may send; the others come from delivery.
    pub const GIVEN: &'static [(&'static str, Self)] =
        &[("manual", Self::Manual), ("unsubscribe", Self::Unsubscribe)];

    /// The reason as the API and the database write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unsubscribe => "unsubscribe",
            Self::HardBounce => "hard_bounce",
            Self::Complaint => "complaint",
            Self::Manual => "manual",
        }
    }

    /// The reason with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, reason)| *reason)
    }
}

/// The messages that a row suppresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Every message of the channel.
    Global,
    /// Messages of one list.
    Group(ListId),
}

impl Scope {
    /// The scope as the API and the database write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Group(_) => "group",
        }
    }

    /// The list of a group.
    pub const fn list(self) -> Option<ListId> {
        match self {
            Self::Global => None,
            Self::Group(list) => Some(list),
        }
    }
}

/// A row of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    pub ledger: Ledger,
    pub identifier: Identifier,
    pub reason: Reason,
    /// `delivery`, `api`, `import`, or a source of consent.
    pub source: String,
    pub scope: Scope,
    pub created_at: Timestamp,
}

/// A row of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedRow {
    pub identifier: Identifier,
    pub reason: Reason,
}

/// Rows to import into a ledger.
#[derive(Debug, Clone, Copy)]
pub struct Import<'a> {
    pub ledger: Ledger,
    pub source: &'a str,
    /// The credential that imports them.
    pub actor: &'a str,
    pub rows: &'a [ImportedRow],
}

/// The number of rows of a ledger with one reason.
#[derive(Debug, Clone, Copy)]
pub struct LedgerSize {
    pub ledger: Ledger,
    pub reason: Reason,
    pub rows: u64,
}

/// An opt-out by the owner of an identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptOut {
    pub ledger: Ledger,
    pub identifier: Identifier,
    pub source: String,
    /// The credential by which it came; none where the platform writes it again for a new address.
    pub actor: Option<String>,
}
