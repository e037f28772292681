//! The audit log: who changed the settings of a workspace, or whose identifiers. Every change adds an entry in its own transaction.
//!
//! The history of consent has entries of its own: see [`crate::audit`].

mod store;

use kernel::{Result, Timestamp, WorkspaceId, page::PageWindow};
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};

pub use self::store::AuditRow;

use crate::http::Requester;

/// The actor of changes by the command line.
pub const COMMAND_LINE: &str = "command_line";

/// Who makes a change, and when.
#[derive(Debug, Clone)]
pub struct Author {
    /// The credential: `api_key:…`, `user:…`, or [`COMMAND_LINE`].
    pub actor: String,
    pub requester: Requester,
    pub now: Timestamp,
}

impl Author {
    /// The author of changes by the command line.
    pub fn command_line(now: Timestamp) -> Self {
        Self { actor: COMMAND_LINE.to_owned(), requester: Requester::default(), now }
    }
}

/// What kind of change was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A key was created.
    KeyCreated,
    /// A key was revoked.
    KeyRevoked,
    /// A member was created, with a link that sets a password.
    MemberCreated,
    /// A member's name or scopes were changed.
    MemberChanged,
    /// A member got another link that sets a password.
    MemberInvited,
    /// A member was removed.
    MemberDeleted,
    /// A session of the console was ended by another person.
    SessionRevoked,
    /// Identifiers were removed from a profile.
    IdentitiesRemoved,
    /// It was requested to erase or export a person.
    PrivacyRequested,
    /// A list was created.
    ListCreated,
    /// A list was changed.
    ListChanged,
    /// A list was archived.
    ListArchived,
    /// An archived list was made active again.
    ListRestored,
    /// A sender domain was added.
    SenderDomainAdded,
    /// A sender domain was removed.
    SenderDomainDeleted,
    /// The template of the preference page was changed.
    PreferencePageChanged,
    /// Dead letters were offered to ClickHouse again.
    DeadLettersRetried,
}

impl Change {
    /// The names of the changes in answers and queries.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("key.created", Self::KeyCreated),
        ("key.revoked", Self::KeyRevoked),
        ("member.created", Self::MemberCreated),
        ("member.changed", Self::MemberChanged),
        ("member.invited", Self::MemberInvited),
        ("member.deleted", Self::MemberDeleted),
        ("session.revoked", Self::SessionRevoked),
        ("user.identities_removed", Self::IdentitiesRemoved),
        ("privacy.requested", Self::PrivacyRequested),
        ("list.created", Self::ListCreated),
        ("list.changed", Self::ListChanged),
        ("list.archived", Self::ListArchived),
        ("list.restored", Self::ListRestored),
        ("sender_domain.added", Self::SenderDomainAdded),
        ("sender_domain.deleted", Self::SenderDomainDeleted),
        ("preference_page.changed", Self::PreferencePageChanged),
        ("dead_letters.retried", Self::DeadLettersRetried),
    ];

    /// The change as the API and the database write it.
    pub fn as_str(self) -> &'static str {
        kernel::fields::word_for(Self::NAMED, self)
    }

    /// The kind of what is changed.
    const fn object_kind(self) -> &'static str {
        match self {
            Self::KeyCreated | Self::KeyRevoked => "key",
            Self::MemberCreated
            | Self::MemberChanged
            | Self::MemberInvited
            | Self::MemberDeleted => "member",
            Self::SessionRevoked => "session",
            Self::IdentitiesRemoved => "user",
            Self::PrivacyRequested => "privacy_request",
            Self::ListCreated | Self::ListChanged | Self::ListArchived | Self::ListRestored => {
                "list"
            }
            Self::SenderDomainAdded | Self::SenderDomainDeleted => "sender_domain",
            Self::PreferencePageChanged => "preference_page",
            Self::DeadLettersRetried => "dead_letters",
        }
    }
}

/// An entry to add.
#[derive(Debug, Clone)]
pub struct Entry<'e> {
    pub change: Change,
    /// The id of what is changed.
    pub object_id: &'e str,
    /// Its name at this time, if it has one.
    pub object_name: Option<&'e str>,
    /// Further facts, by their names.
    pub details: Map<String, Value>,
}

impl<'e> Entry<'e> {
    /// An entry about an object with a name, without further facts.
    pub fn named(change: Change, object_id: &'e str, object_name: &'e str) -> Self {
        Self { change, object_id, object_name: Some(object_name), details: Map::new() }
    }
}

/// Adds an entry within the transaction of the change.
///
/// # Errors
/// When the store fails.
pub async fn append(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    author: &Author,
    entry: Entry<'_>,
) -> Result<()> {
    store::insert(connection, workspace, author, entry).await
}

/// A page of the entries of a workspace, newest first, with the number of all; of one kind of change if one is named.
///
/// # Errors
/// When the store fails.
pub async fn list(
    pool: &PgPool,
    workspace: WorkspaceId,
    change: Option<Change>,
    window: PageWindow,
) -> Result<(Vec<AuditRow>, u64)> {
    store::list(pool, workspace, change, window).await
}
