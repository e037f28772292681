//! A row of a ledger.

use kernel::{ListId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Identifier, Ledger};

/// Why an identifier is suppressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its owner opted out. Goes with a fresh opt-in.
    Unsubscribe,
    /// The address does not exist. Stays until an operator lifts it.
    HardBounce,
    /// Its owner called a message spam. Stays until an operator lifts it.
    Complaint,
    /// An operator's decision. Goes with a fresh opt-in.
    Manual,
}

impl Reason {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("unsubscribe", Self::Unsubscribe),
        ("hard_bounce", Self::HardBounce),
        ("complaint", Self::Complaint),
        ("manual", Self::Manual),
    ];

    /// Those a caller may give; the others are facts of delivery.
    pub const GIVEN: &'static [(&'static str, Self)] =
        &[("manual", Self::Manual), ("unsubscribe", Self::Unsubscribe)];

    /// The reason as the API and the store write it.
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

/// How far a row reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Every message of the channel.
    Global,
    /// Messages under one list.
    Group(ListId),
}

impl Scope {
    /// The scope as the API and the store write it.
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
    /// Where it came from: `delivery`, `api`, `import`, or a consent source.
    pub source: String,
    /// How far it reaches.
    pub scope: Scope,
    pub created_at: Timestamp,
}

/// An opt-out of whoever has the identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptOut {
    pub ledger: Ledger,
    /// The address or number.
    pub identifier: Identifier,
    /// Where the opt-out came from.
    pub source: String,
}
