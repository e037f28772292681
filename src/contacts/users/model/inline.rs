//! What may come along with a user: subscriptions and events, applied after the profile.

use kernel::Channel;
use serde_json::value::RawValue;

use crate::consent::model::MembershipStatus;

#[derive(Debug, Clone)]
pub struct Subscription {
    /// The list, as sent; absent where none was named.
    pub list: Option<String>,
    pub channel: Channel,
    /// What is wished for.
    pub status: MembershipStatus,
}

/// An inline event. Its fields are as sent; the write path judges them.
#[derive(Debug, Clone, Copy)]
pub struct Event<'b> {
    pub name: Option<&'b RawValue>,
    pub properties: Option<&'b RawValue>,
    /// A string or a number.
    pub timestamp: Option<&'b RawValue>,
}
