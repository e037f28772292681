//! Profiles, and the rules about profiles that need no database.

pub mod attributes;
pub mod dates;
pub mod inline;
pub mod typed;
pub mod waves;

use kernel::{EmailAddress, Timestamp, UserId};
use serde_json::value::RawValue;

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
}

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

    /// The email address of the profile after this change, whether it is the key or not.
    pub fn email(&self) -> Option<&str> {
        match (&self.key, &self.email) {
            (Key::Email(email), _) | (_, Some(email)) => Some(email.as_str()),
            _ => None,
        }
    }
}
