//! Refused events as they are listed.

use std::time::Duration;

use kernel::{Timestamp, time::DAY};

/// How long a refused event is listed.
pub const LISTED_FOR: Duration = DAY.saturating_mul(7);

/// An event that was refused, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedEvent {
    pub at: Timestamp,
    /// The key it was sent with.
    pub key_id: String,
    pub name: Option<String>,
    pub user_id: Option<String>,
    /// The id that its sender gave it.
    pub client_event_id: Option<String>,
    pub reason: String,
    /// The beginning of its text.
    pub body: String,
}

/// The newest refused events of a workspace, and how many there are with those that are only counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedEvents {
    pub events: Vec<RefusedEvent>,
    pub total: u64,
}

/// Which refused events are asked for.
#[derive(Debug, Clone, Copy)]
pub struct WantedRefusals {
    pub since: Timestamp,
    pub limit: i64,
    /// So many of them are left out.
    pub offset: i64,
}
