//! Profiles to which identifiers of events were linked.

use std::collections::HashMap;

use kernel::UserId;

/// A profile to which an identifier is linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedProfile {
    pub user: UserId,
    pub external_id: Option<String>,
    /// Whether it is not deleted.
    pub is_active: bool,
}

/// Profiles by the identifiers that are linked to them. The own ids of active profiles are not among these.
#[derive(Debug, Clone, Default)]
pub struct LinkedProfiles {
    /// By `userId` or `serviceUserId`: ids of merged profiles and aliases, else anonymous ids.
    pub by_user: HashMap<String, LinkedProfile>,
    /// By `anonymousId` of an event without a user.
    pub by_anonymous: HashMap<String, LinkedProfile>,
}
