//! Profiles, and the rules about profiles that need no database.

pub mod attributes;
pub mod dates;
pub mod inline;
pub mod typed;
pub mod waves;

use std::collections::BTreeMap;

use kernel::{EmailAddress, Timestamp, UserId};
use serde_json::value::RawValue;
use uuid::Uuid;

use self::attributes::Attributes;

/// Characters of an external id.
pub const EXTERNAL_ID_CHARS_MAX: usize = 255;
/// Characters of a phone number as sent.
pub const PHONE_CHARS_MAX: usize = 20;
/// Elements of one `POST /users` array.
pub const ELEMENTS_MAX: usize = 1000;
/// Inline subscriptions of one user.
pub const SUBSCRIPTIONS_MAX: usize = 100;
/// Inline events of one user.
pub const EVENTS_MAX: usize = 25;
/// Inline subscriptions of one request.
pub const SUBSCRIPTIONS_PER_REQUEST_MAX: usize = 1000;
/// Inline events of one request.
pub const EVENTS_PER_REQUEST_MAX: usize = 500;

#[derive(Debug, Clone)]
pub struct User {
    pub id: UserId,
    /// The id that the caller chose.
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    /// Custom attributes: a compact JSON object.
    pub attributes: Box<RawValue>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A profile with what else is stored about the person.
#[derive(Debug, Clone)]
pub struct ProfileRecord {
    pub user: User,
    /// Anonymous ids that are linked to it, in order.
    pub anonymous_ids: Vec<String>,
    /// State of consent by channel; a channel without a state is not in it.
    pub consent: BTreeMap<String, String>,
    /// Lists that it is subscribed to on any channel, archived ones included.
    pub lists: Vec<Uuid>,
}

/// The caller that deletes a profile, and the reason it gave.
#[derive(Debug, Clone, Copy)]
pub struct Deletion<'d> {
    pub by: &'d str,
    pub reason: Option<&'d str>,
}

/// A deleted profile that can still be restored.
#[derive(Debug, Clone)]
pub struct DeletedUser {
    pub id: UserId,
    pub external_id: Option<String>,
    pub email: Option<String>,
    /// As it was sent.
    pub phone: Option<String>,
    pub deleted_at: Timestamp,
    /// Who deleted it: `api_key:<id>` for a key.
    pub deleted_by: String,
    /// `api`, `dashboard`, `import` or `system`.
    pub deleted_via: String,
    /// The reason that the caller gave.
    pub deleted_reason: Option<String>,
    pub restored_at: Option<Timestamp>,
}

/// The identifier by which a create-or-update selects its profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// The profile with this internal id. Never creates one.
    Internal(UserId),
    /// The profile with this external id; otherwise a profile without an external id that has the address sent
    /// beside it; otherwise a new one.
    External(String),
    /// The profile with this address that changed last, of several the one with the lowest id; otherwise a new one.
    Email(EmailAddress),
}

/// A create-or-update. Absent fields stay as they are.
#[derive(Debug, Clone)]
pub struct Upsert {
    pub key: Key,
    pub email: Option<EmailAddress>,
    pub phone: Option<String>,
    /// Merged into the stored attributes key by key.
    pub attributes: Option<Attributes>,
    /// The group that its attributes name, and nothing else: stored traits of another group become an empty object.
    pub group_id: Option<String>,
    pub manner: Manner,
}

/// What a create-or-update leaves alone. By default nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// It came with a public key: it keeps known addresses, and takes over no profile by an address.
    pub is_public: bool,
    /// It keeps known addresses and known attributes.
    pub is_once: bool,
    /// It creates no profile.
    pub is_known_only: bool,
}

impl Manner {
    /// Whether known addresses stay.
    pub const fn keeps_addresses(self) -> bool {
        self.is_public || self.is_once
    }
}

/// What a call of an event SDK is known by in its workspace: a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey(pub [u8; 16]);

impl Upsert {
    /// The external id, where it is the key.
    pub fn external_id(&self) -> Option<&str> {
        match &self.key {
            Key::External(id) => Some(id),
            Key::Internal(_) | Key::Email(_) => None,
        }
    }

    /// The internal id, where it is the key.
    pub fn internal_id(&self) -> Option<UserId> {
        match self.key {
            Key::Internal(id) => Some(id),
            Key::External(_) | Key::Email(_) => None,
        }
    }

    /// The address by which it may take over a profile without an external id.
    pub fn adopting_email(&self) -> Option<&str> {
        let is_by_address = matches!(self.key, Key::Email(_));
        self.email().filter(|_| is_by_address || !self.manner.is_public)
    }

    /// The email address of the profile after this change, whether it is the key or not.
    pub fn email(&self) -> Option<&str> {
        match (&self.key, &self.email) {
            (Key::Email(email), _) | (_, Some(email)) => Some(email.as_str()),
            _ => None,
        }
    }
}
