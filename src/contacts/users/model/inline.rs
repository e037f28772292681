//! Subscriptions and events sent together with a user, applied after the profile.

use kernel::Channel;
use serde_json::value::RawValue;

use crate::consent::model::MembershipStatus;

#[derive(Debug, Clone)]
pub struct Subscription {
    /// As sent; absent where no list was named.
    pub list: Option<String>,
    pub channel: Channel,
    /// The status that the caller asks for.
    pub status: MembershipStatus,
}

/// An inline event. Its fields are as sent; the write path validates them.
#[derive(Debug, Clone, Copy)]
pub struct Event<'b> {
    pub name: Option<&'b RawValue>,
    pub properties: Option<&'b RawValue>,
    /// A string or a number.
    pub timestamp: Option<&'b RawValue>,
}
