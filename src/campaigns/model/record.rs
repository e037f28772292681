//! Versions and history entries of a campaign.

use kernel::{Timestamp, VersionId};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::Change;

/// What created a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeType {
    Create,
    Update,
    /// Its pending edits were published.
    Publish,
    /// An older version was restored.
    Rollback,
}

impl ChangeType {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("create", Self::Create),
        ("update", Self::Update),
        ("publish", Self::Publish),
        ("rollback", Self::Rollback),
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Publish => "publish",
            Self::Rollback => "rollback",
        }
    }
}

/// A version without its snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    pub id: VersionId,
    /// Versions are counted from 1.
    pub number: i32,
    pub change_type: ChangeType,
    /// The fields that differ from the previous version.
    pub changed_fields: Vec<String>,
    pub created_by: String,
    pub created_at: Timestamp,
}

/// A version with the serialized campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub version: Version,
    pub snapshot: Value,
}

/// How a path names a version: by id or by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionName {
    Id(VersionId),
    Number(i32),
}

impl VersionName {
    /// None if the text is neither.
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(number) => Some(Self::Number(number)),
            Err(_) => text.parse().ok().map(Self::Id),
        }
    }
}

/// An action on a campaign, in the past tense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CampaignAction)]
pub enum Action {
    Created,
    Updated,
    /// Edited in the pending draft.
    DraftUpdated,
    /// The draft replaced the live definition.
    Published,
    DraftDiscarded,
    /// An older version was restored.
    RolledBack,
    Sent,
    /// Launched at its scheduled time.
    Launched,
    Paused,
    Resumed,
    Cancelled,
    Completed,
    /// It could not continue.
    Failed,
    /// Scheduled again after a failure.
    Retried,
    /// Sent again after its completion.
    Resent,
    RecurringStopped,
    Archived,
    Unarchived,
    RlLaunched,
    /// A new A/B test was started.
    AbRetested,
    /// The A/B test ended.
    AbConcluded,
}

impl Action {
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
    /// The actor: `api_key:…`, `user:…` or `system`.
    pub actor: String,
    pub changes: Vec<Change>,
    pub created_at: Timestamp,
}
