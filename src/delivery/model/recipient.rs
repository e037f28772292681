//! The recipient of a message, as rendering and providers need it.

use kernel::UserId;
use serde_json::{Map, Value};

/// The recipient of a message: a profile, or the bare address of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recipient {
    /// The profile; none if a test is sent to a bare address.
    pub user: Option<UserId>,
    /// The caller's id of the profile.
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    pub attributes: Map<String, Value>,
    /// The time zone as the caller sent it.
    pub timezone: Option<String>,
}
