//! What is written down about a campaign: versions, and entries of its history.

use kernel::{Timestamp, VersionId};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::Change;

/// What made a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeType {
    /// The campaign was made.
    Create,
    Update,
    /// Its pending edits were published.
    Publish,
    /// An older version was brought back.
    Rollback,
}

impl ChangeType {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("create", Self::Create),
        ("update", Self::Update),
        ("publish", Self::Publish),
        ("rollback", Self::Rollback),
    ];

    /// The type as the API and the store write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Publish => "publish",
            Self::Rollback => "rollback",
        }
    }
}

/// A version, without what the campaign said.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    pub id: VersionId,
    /// Its number, counted from 1.
    pub number: i32,
    pub change_type: ChangeType,
    /// The fields in which it differs from the one before.
    pub changed_fields: Vec<String>,
    pub created_by: String,
    pub created_at: Timestamp,
}

/// A version and what the campaign said, in the form it is written out.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub version: Version,
    pub snapshot: Value,
}

/// How a version is named in a path: by its id or by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionName {
    Id(VersionId),
    Number(i32),
}

impl VersionName {
    /// Reads a name; what is neither names no version.
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(number) => Some(Self::Number(number)),
            Err(_) => text.parse().ok().map(Self::Id),
        }
    }
}

/// What was done to a campaign, in the past tense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CampaignAction)]
pub enum Action {
    Created,
    Updated,
    /// Edited, into a draft that waits to be published.
    DraftUpdated,
    /// The draft took the place of what was live.
    Published,
    /// The draft was thrown away.
    DraftDiscarded,
    /// An older version was brought back.
    RolledBack,
    Sent,
    /// Launched because its time had come.
    Launched,
    Paused,
    Resumed,
    Cancelled,
    Completed,
    /// Could not go on.
    Failed,
    /// Put back in line after a failure.
    Retried,
    /// Sent again after its completion.
    Resent,
    RecurringStopped,
    Archived,
    Unarchived,
    RlLaunched,
    /// The trial of its variants began anew.
    AbRetested,
    /// The trial of its variants ended.
    AbConcluded,
}

impl Action {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("created", Self::Created),
        ("updated", Self::Updated),
        ("draft_updated", Self::DraftUpdated),
        ("published", Self::Published),
        ("draft_discarded", Self::DraftDiscarded),
        ("rolled_back", Self::RolledBack),
        ("sent", Self::Sent),
        ("launched", Self::Launched),
        ("paused", Self::Paused),
        ("resumed", Self::Resumed),
        ("cancelled", Self::Cancelled),
        ("completed", Self::Completed),
        ("failed", Self::Failed),
        ("retried", Self::Retried),
        ("resent", Self::Resent),
        ("recurring_stopped", Self::RecurringStopped),
        ("archived", Self::Archived),
        ("unarchived", Self::Unarchived),
        ("rl_launched", Self::RlLaunched),
        ("ab_retested", Self::AbRetested),
        ("ab_concluded", Self::AbConcluded),
    ];

    /// The action as the API and the store write it.
    pub fn as_str(self) -> &'static str {
        let known = Self::NAMED.iter().find(|(_, action)| *action == self);
        known.map_or("", |(name, _)| name)
    }
}

/// An entry of the history.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: uuid::Uuid,
    pub action: String,
    /// Who did it: `api_key:…`, `user:…` or `system`.
    pub actor: String,
    pub changes: Vec<Change>,
    pub created_at: Timestamp,
}
