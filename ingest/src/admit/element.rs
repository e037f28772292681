//! The fields of one element, as sent.

use std::borrow::Cow;

use crate::{
    model::limits::EVENT_NAME_CHARS_MAX,
    parse::{Kind, Nesting, Number, Scanner, SyntaxError, Text},
};

use super::properties::Properties;

/// A field's value before it is judged.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Field<'a> {
    /// Not sent, or null.
    #[default]
    Absent,
    /// A string.
    Text(Text<'a>),
    /// A number.
    Number(Number<'a>),
    /// Something no field takes.
    Other,
}

/// `userAlias` before it is judged.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Alias<'a> {
    /// Not sent, or null.
    #[default]
    Absent,
    /// An object.
    Parts {
        /// `aliasLabel`
        label: Field<'a>,
        /// `aliasName`
        name: Field<'a>,
    },
    /// Something else.
    Other,
}

/// The known fields of one element; `properties` are kept by [`Properties`]. A key sent twice
/// counts as sent last.
#[derive(Debug, Default)]
pub(super) struct Element<'a> {
    pub(super) user_id: Field<'a>,
    pub(super) event_name: Field<'a>,
    pub(super) timestamp: Field<'a>,
    pub(super) service_user_id: Field<'a>,
    pub(super) anonymous_id: Field<'a>,
    pub(super) alias: Alias<'a>,
    pub(super) session_id: Field<'a>,
    pub(super) device_id: Field<'a>,
    pub(super) client_event_id: Field<'a>,
}

impl<'a> Element<'a> {
    /// Reads the object the scanner is at. In place: an element is half a kilobyte.
    pub(super) fn read(
        &mut self,
        scanner: &mut Scanner<'a>,
        properties: &mut Properties,
        nesting: &mut Nesting,
    ) -> Result<(), SyntaxError> {
        properties.begin();
        scanner.members(|scanner, key| {
            let slot = match key.decode().as_deref().map(str::as_bytes) {
                Ok(b"userId") => &mut self.user_id,
                Ok(b"eventName") => &mut self.event_name,
                Ok(b"timestamp") => &mut self.timestamp,
                Ok(b"serviceUserId") => &mut self.service_user_id,
                Ok(b"anonymousId") => &mut self.anonymous_id,
                Ok(b"sessionId") => &mut self.session_id,
                Ok(b"deviceId") => &mut self.device_id,
                Ok(b"clientEventId") => &mut self.client_event_id,
                Ok(b"properties") => return properties.read(scanner, nesting),
                Ok(b"userAlias") => {
                    self.alias = alias(scanner, nesting)?;
                    return Ok(());
                }
                // Unknown fields are ignored, so that callers may run ahead of us.
                _ => return scanner.skip(nesting),
            };
            *slot = field(scanner, nesting)?;
            Ok(())
        })
    }

    /// The event's name for a refusal, where it is a string.
    pub(super) fn shown_name(&self) -> Option<String> {
        let Field::Text(text) = self.event_name else { return None };
        let name = text.decode().unwrap_or(Cow::Borrowed(text.raw));
        Some(name.chars().take(EVENT_NAME_CHARS_MAX).collect())
    }
}

fn field<'a>(scanner: &mut Scanner<'a>, nesting: &mut Nesting) -> Result<Field<'a>, SyntaxError> {
    Ok(match scanner.kind()? {
        Kind::Text => Field::Text(scanner.string()?),
        Kind::Number => Field::Number(scanner.number()?),
        Kind::Null => scanner.literal().map(|()| Field::Absent)?,
        Kind::Bool => scanner.literal().map(|()| Field::Other)?,
        Kind::Object | Kind::Array => scanner.skip(nesting).map(|()| Field::Other)?,
    })
}

fn alias<'a>(scanner: &mut Scanner<'a>, nesting: &mut Nesting) -> Result<Alias<'a>, SyntaxError> {
    if scanner.kind()? != Kind::Object {
        return Ok(match field(scanner, nesting)? {
            Field::Absent => Alias::Absent,
            _ => Alias::Other,
        });
    }
    let (mut label, mut name) = (Field::Absent, Field::Absent);
    scanner.members(|scanner, key| {
        match key.decode().as_deref() {
            Ok("aliasLabel") => label = field(scanner, nesting)?,
            Ok("aliasName") => name = field(scanner, nesting)?,
            _ => scanner.skip(nesting)?,
        }
        Ok(())
    })?;
    Ok(Alias::Parts { label, name })
}
