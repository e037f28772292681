//! The history of consent: every write adds an entry, in the transaction of the write.
//!
//! It is in this crate because two areas write consent: `consent` writes decisions of contacts, `suppressions`
//! writes bounces.

mod store;

use std::borrow::Cow;

use kernel::{Channel, ListId, Result, Timestamp, UserId, WorkspaceId};
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use crate::http::Requester;

/// The origin of a change.
#[derive(Debug, Clone)]
pub struct Origin {
    /// `api`, `form`, `preference_center`, `unsubscribe_link`, or a source that the caller names.
    pub source: String,
    /// The credential: `api_key:…`, `user:…`.
    pub actor: String,
    pub requester: Requester,
}

/// The type of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ConsentAction)]
pub enum Action {
    /// Subscribed for the first time.
    Subscribe,
    Unsubscribe,
    Resubscribe,
    /// A bounce of unknown type.
    Bounce,
    /// The address does not exist.
    HardBounce,
    /// The address could not be reached this time.
    SoftBounce,
    /// The recipient reported it as spam.
    Complaint,
    /// An import in the dashboard.
    Import,
    /// A write that does not change whether the contact is subscribed.
    ApiUpdate,
    /// Another profile was merged into this one.
    Merge,
}

impl Action {
    /// The action as the API and the database write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Subscribe => "subscribe",
            Self::Unsubscribe => "unsubscribe",
            Self::Resubscribe => "resubscribe",
            Self::Bounce => "bounce",
            Self::HardBounce => "hard_bounce",
            Self::SoftBounce => "soft_bounce",
            Self::Complaint => "complaint",
            Self::Import => "import",
            Self::ApiUpdate => "api_update",
            Self::Merge => "merge",
        }
    }
}

/// The facts that all entries of one write share.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    pub now: Timestamp,
    pub origin: &'a Origin,
    /// The text that the contact consented to.
    pub consent_text: Option<&'a str>,
    pub reason: Option<&'a str>,
}

impl<'a> Write<'a> {
    /// A write without a consent text and a reason.
    pub const fn of(now: Timestamp, origin: &'a Origin) -> Self {
        Self { now, origin, consent_text: None, reason: None }
    }
}

/// One change of one contact, or one write that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub user: UserId,
    pub channel: Channel,
    /// The list, for a change of a membership.
    pub list: Option<ListId>,
    pub action: Action,
    /// The status before the change, if there was one.
    pub previous: Option<Cow<'static, str>>,
    /// The status after the change, if there is one.
    pub new: Option<Cow<'static, str>>,
}

/// Appends entries in their order. Entries of one contact keep the order in which they were written, and their
/// times never decrease.
///
/// # Errors
/// When the store fails.
pub async fn append(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    write: &Write<'_>,
    entries: &[Entry],
) -> Result<()> {
    if entries.is_empty() {
        Ok(())
    } else {
        store::insert(connection, workspace, write, entries).await
    }
}

/// Counts entries; called once their transaction is committed.
pub fn count(entries: &[Entry]) {
    for entry in entries {
        metrics_catalogue::CONSENT_CHANGES
            .with([entry.channel.as_str(), entry.action.as_str()])
            .increment(1);
    }
}
