//! Whom a message is for, as rendering and providers need them.

use kernel::UserId;
use serde_json::{Map, Value};

/// Somebody a message goes to: a profile, or the bare address of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recipient {
    /// Who they are; none where a test goes to a bare address.
    pub user: Option<UserId>,
    /// The caller's own id of them.
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    /// All that is known of them besides.
    pub attributes: Map<String, Value>,
    /// Their time zone, as it was sent.
    pub timezone: Option<String>,
}
