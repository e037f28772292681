//! What is copied, and how attributes become columns.

mod numbers;
mod typed;

use std::collections::BTreeSet;

use uuid::Uuid;

pub(crate) use self::{numbers::readable, typed::TypedAttributes};

/// A profile, by what PostgreSQL and ClickHouse order it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProfileKey {
    pub(crate) workspace: Uuid,
    /// The bytes of the internal id.
    pub(crate) user: [u8; 12],
}

/// A campaign, by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CampaignKey {
    pub(crate) workspace: Uuid,
    pub(crate) campaign: Uuid,
}

/// Changes that are not copied yet: their profiles and campaigns, and their rows in the queue.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) people: BTreeSet<ProfileKey>,
    pub(crate) people_rows: Vec<i64>,
    /// How many changes of profiles these rows have.
    pub(crate) change_count: usize,
    pub(crate) campaigns: BTreeSet<CampaignKey>,
    pub(crate) campaign_rows: Vec<i64>,
}

/// A copy of everything that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rebuild {
    /// The version of its first batch; none before.
    pub(crate) first_version: Option<u64>,
    /// The workspace of the last profile that was copied.
    pub(crate) workspace: Uuid,
    /// The internal id of that profile; empty before the first.
    pub(crate) user: Vec<u8>,
}
