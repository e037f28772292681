//! Where a campaign stands.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The states of DECISIONS K1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Being written.
    Draft,
    /// Waits for its time.
    Scheduled,
    /// Sending, or waiting for what makes it send.
    Active,
    /// Halted until it is resumed.
    Paused,
    /// Everything it had to send is settled.
    Completed,
    /// Called off for good.
    Cancelled,
    /// Put away; its history stays.
    Archived,
    /// Ended by a fault that trying again would not mend; see `failureReason`.
    Failed,
}

impl Status {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("draft", Self::Draft),
        ("scheduled", Self::Scheduled),
        ("active", Self::Active),
        ("paused", Self::Paused),
        ("completed", Self::Completed),
        ("cancelled", Self::Cancelled),
        ("archived", Self::Archived),
        ("failed", Self::Failed),
    ];

    /// The status as the API and the store write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Archived => "archived",
            Self::Failed => "failed",
        }
    }
}
