//! What a profile is, and the rules about profiles that need no store.

pub mod attributes;
pub mod dates;
pub mod inline;
pub mod typed;
pub mod waves;

use kernel::{EmailAddress, Timestamp, UserId};
use serde_json::value::RawValue;

use self::attributes::Attributes;

/// Characters of a caller's own id of a user.
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
    /// The service's own id of it.
    pub id: UserId,
    /// The caller's own id of it.
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    /// Custom attributes: a compact JSON object.
    pub attributes: Box<RawValue>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Who puts a profile into the recycle bin, and why.
#[derive(Debug, Clone, Copy)]
pub struct Deletion<'d> {
    pub by: &'d str,
    /// Why, in their words.
    pub reason: Option<&'d str>,
}

/// A profile in the recycle bin.
#[derive(Debug, Clone)]
pub struct DeletedUser {
    /// The id it had.
    pub id: UserId,
    /// The caller's own id it had.
    pub external_id: Option<String>,
    pub email: Option<String>,
    /// Its phone number, as sent.
    pub phone: Option<String>,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// Who did it: `api_key:<id>`.
    pub deleted_by: String,
    /// By which way: `api`, `dashboard`, `import` or `system`.
    pub deleted_via: String,
    /// Why, in the words of who did it.
    pub deleted_reason: Option<String>,
    /// When it was restored.
    pub restored_at: Option<Timestamp>,
}

/// Whom a create-or-update means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// The profile with this internal id; never makes one.
    Internal(UserId),
    /// The profile with this id of the caller's; else one without such an id that has the address
    /// sent beside it; else a new one.
    External(String),
    /// The profile with this address that changed last, of several the one with the lowest id; else
    /// a new one.
    Email(EmailAddress),
}

/// What a create-or-update says. Absent fields stay as they are.
#[derive(Debug, Clone)]
pub struct Upsert {
    pub key: Key,
    pub email: Option<EmailAddress>,
    pub phone: Option<String>,
    /// Laid over the stored attributes key by key.
    pub attributes: Option<Attributes>,
}

impl Upsert {
    /// The caller's own id, where it is the key.
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

    /// The address the profile will have because of this, be it the key or not.
    pub fn email(&self) -> Option<&str> {
        match (&self.key, &self.email) {
            (Key::Email(email), _) | (_, Some(email)) => Some(email.as_str()),
            _ => None,
        }
    }
}
