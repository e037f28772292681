//! The audit of consent: every write of it leaves an entry, in the transaction of the write.
//!
//! Below the areas, because two of them write consent: what people decide is `consent`'s, what bounces
//! say is `suppressions`'.

mod store;

use std::borrow::Cow;

use kernel::{Channel, ListId, Result, Timestamp, UserId, WorkspaceId};
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use crate::http::Requester;

/// Where a change came from.
#[derive(Debug, Clone)]
pub struct Origin {
    /// What kind of place: `api`, `form`, `preference_center`, `unsubscribe_link`, a caller's own word.
    pub source: String,
    /// Who, as credentials name them: `api_key:…`, `user:…`.
    pub actor: String,
    pub requester: Requester,
}

/// What became of consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ConsentAction)]
pub enum Action {
    /// For the first time.
    Subscribe,
    Unsubscribe,
    Resubscribe,
    /// A bounce of a kind not told.
    Bounce,
    /// The address does not exist.
    HardBounce,
    /// The address could not be reached this time.
    SoftBounce,
    /// The recipient called it spam.
    Complaint,
    /// Brought in by the dashboard.
    Import,
    /// Written, without changing whether the contact is subscribed.
    ApiUpdate,
}

impl Action {
    /// The action as the API and the store write it.
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
        }
    }
}

/// What all entries of one write share.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    pub now: Timestamp,
    pub origin: &'a Origin,
    /// The words consented to.
    pub consent_text: Option<&'a str>,
    pub reason: Option<&'a str>,
}

impl<'a> Write<'a> {
    /// A write without words.
    pub const fn of(now: Timestamp, origin: &'a Origin) -> Self {
        Self { now, origin, consent_text: None, reason: None }
    }
}

/// One change of one contact, or one write that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub user: UserId,
    pub channel: Channel,
    /// The list, where it was about one.
    pub list: Option<ListId>,
    pub action: Action,
    /// The status before, where there was one.
    pub previous: Option<Cow<'static, str>>,
    /// The status after, where there is one.
    pub new: Option<Cow<'static, str>>,
}

/// Writes entries down in their order. Entries of one contact keep the order of their writing for ever,
/// and their times never go back.
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

/// Counts entries; once their transaction is committed.
pub fn count(entries: &[Entry]) {
    for entry in entries {
        metrics_catalogue::CONSENT_CHANGES
            .with([entry.channel.as_str(), entry.action.as_str()])
            .increment(1);
    }
}
