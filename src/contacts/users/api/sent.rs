//! Users as callers send them.
//!
//! Attributes and inline events reach their own readers as they were sent.

use kernel::fields::describe::described;
use kernel::{
    EmailAddress, FieldError, UserId,
    fields::{Fields, FromFields, Patch},
    schema::EmailOrNone,
};
use serde_json::value::RawValue;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};

use super::{
    inline::{self, Form},
    raw_fields::{FieldErrors, Texts},
};
use crate::users::{
    model::{
        EXTERNAL_ID_CHARS_MAX, Key, Manner, PHONE_CHARS_MAX, Upsert,
        attributes::Attributes,
        inline::{Event, Subscription},
    },
    ops::change::Update,
};

fn attributes(texts: &Texts<'_>, errors: &mut FieldErrors) -> Option<Attributes> {
    match Attributes::read(texts.get("attributes")?) {
        Ok(attributes) => Some(attributes),
        Err(fault) => {
            errors.push(FieldError::new("attributes", fault.to_string()));
            None
        }
    }
}

/// An address; the empty text means that there is none.
fn address(text: &str) -> Result<Option<EmailAddress>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|wrong: kernel::NotAnEmailAddress| wrong.to_string())
}

/// The profile that an element is for, with its address and number.
struct Identity {
    key: Option<Key>,
    email: Option<EmailAddress>,
    phone: Option<String>,
}

impl FromFields for Identity {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let filled = |text: &String| !text.is_empty();
        let external_id = body
            .optional("externalId")
            .about(
                "The caller's own id of the user. One of `externalId`, `email` and `userId` is \
                     required.",
            )
            .text(0..=EXTERNAL_ID_CHARS_MAX)
            .filter(filled);
        let email = body.optional("email").as_type::<EmailOrNone>().parsed(None, address).flatten();
        let internal_id = body
            .optional("userId")
            .about("Internal id, 24-hex: only updates. Not together with `externalId`.")
            .as_schema(internal_id_or_none)
            .parsed(None, |text| {
                if text.is_empty() {
                    return Ok(None);
                }
                text.parse::<UserId>()
                    .map(Some)
                    .map_err(|_| "must be 24 hexadecimal characters".to_owned())
            });
        let is_clean = body.is_clean();
        let key = match (internal_id.flatten(), external_id, &email) {
            (Some(_), Some(_), _) => {
                body.refuse("userId", "must not be sent together with externalId");
                None
            }
            (Some(id), None, _) => Some(Key::Internal(id)),
            (None, Some(id), _) => Some(Key::External(id)),
            (None, None, Some(email)) => Some(Key::Email(email.clone())),
            (None, None, None) => {
                if is_clean {
                    body.refuse_body("externalId, email or userId is required");
                }
                None
            }
        };
        let phone = body.optional("phone").text(0..=PHONE_CHARS_MAX).filter(filled);
        Self { key, email, phone }
    }
}

/// An internal id, or the empty text, which is none.
fn internal_id_or_none() -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.pattern(Some("^(?:[0-9a-fA-F]{24})?$")).into()
}

/// Describes attributes, which are read as text.
fn describe_attributes(body: &mut Fields<'_>, about: &'static str) {
    body.optional("attributes").about(about).json_object();
}

/// A profile to create or update, as the API describes it.
#[derive(Debug)]
pub(super) struct UserUpsertFields;

impl FromFields for UserUpsertFields {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Identity::from_fields(body);
        describe_attributes(
            body,
            "Merged with the stored ones key by key; null is stored. 200 keys, 51,200 bytes, 5 deep.",
        );
        inline::describe(body);
        Self
    }
}

described!(
    /// A profile as it is sent.
    UserUpsertFields as "UserUpsertFields"
);

/// A change to a profile, as the API describes it.
#[derive(Debug)]
pub(super) struct UserUpdate;

impl FromFields for UserUpdate {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Contact::from_fields(body);
        describe_attributes(body, "Merged with the stored ones key by key; null is stored.");
        Self
    }
}

described!(
    /// A change to a profile. Absent fields stay; an email or phone of null is cleared.
    UserUpdate as "UserUpdate"
);

/// A user without errors.
#[derive(Debug)]
pub(super) struct SentUser<'b> {
    pub(super) upsert: Upsert,
    /// None if the field was not sent.
    pub(super) subscriptions: Option<Vec<Subscription>>,
    /// None if the field was not sent.
    pub(super) events: Option<Vec<Event<'b>>>,
}

/// One element of `POST /users`.
#[derive(Debug)]
pub(super) struct Element<'b> {
    /// The identifier that names it in an error, as it was sent.
    pub(super) shown_as: Option<String>,
    /// Inline subscriptions sent, valid or not.
    pub(super) subscriptions: usize,
    /// Inline events sent, valid or not.
    pub(super) events: usize,
    /// The user, or all of its errors.
    pub(super) user: Result<SentUser<'b>, FieldErrors>,
}

impl<'b> Element<'b> {
    pub(super) fn of(json: &'b RawValue, form: Form) -> Self {
        let texts = match Texts::of(json) {
            Ok(texts) => texts,
            Err(wrong) => {
                return Self {
                    shown_as: None,
                    subscriptions: 0,
                    events: 0,
                    user: Err(vec![wrong]),
                };
            }
        };
        let mut errors = FieldErrors::new();
        let upsert = upsert(&texts, &mut errors);
        let subscriptions = inline::subscriptions(&texts, form, &mut errors);
        let events = inline::events(&texts, form, &mut errors);
        let user = match upsert.filter(|_| errors.is_empty()) {
            Some(upsert) => Ok(SentUser { upsert, subscriptions, events }),
            None => Err(errors),
        };
        let count = |name| texts.list(name).map_or(0, |items| items.len());
        Self {
            shown_as: ["externalId", "userId", "email"]
                .into_iter()
                .filter_map(|name| texts.string(name))
                .find(|text| !text.is_empty()),
            subscriptions: count("subscriptions"),
            events: count("events"),
            user,
        }
    }
}

/// Reads an element without its inline subscriptions and events.
fn upsert(texts: &Texts<'_>, errors: &mut FieldErrors) -> Option<Upsert> {
    let identity: Option<Identity> =
        texts.read(&["externalId", "email", "userId", "phone"], errors);
    let attributes = attributes(texts, errors);
    let Identity { key, email, phone } = identity?;
    let manner = Manner::default();
    Some(Upsert { key: key?, email, phone, attributes, group_id: None, manner })
}

/// What is changed beside attributes.
struct Contact {
    email: Patch<Option<EmailAddress>>,
    phone: Patch<String>,
}

impl FromFields for Contact {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            email: body.patch("email").as_type::<EmailOrNone>().parsed(None, address),
            phone: body.patch("phone").text(0..=PHONE_CHARS_MAX),
        }
    }
}

/// Reads the body of a PUT: empty texts are absent, null clears.
pub(super) fn update(texts: &Texts<'_>) -> Result<Update, FieldErrors> {
    let mut errors = FieldErrors::new();
    let contact: Option<Contact> = texts.read(&["email", "phone"], &mut errors);
    let attributes = attributes(texts, &mut errors);
    let Some(Contact { email, phone }) = contact.filter(|_| errors.is_empty()) else {
        return Err(errors);
    };
    let email = match email {
        Patch::Value(Some(address)) => Patch::Value(address),
        Patch::Null => Patch::Null,
        Patch::Value(None) | Patch::Absent => Patch::Absent,
    };
    let phone = match phone {
        Patch::Value(text) if text.is_empty() => Patch::Absent,
        patch => patch,
    };
    Ok(Update { email, phone, attributes })
}
