//! An element that simd-json refuses, rewritten so that it can be validated like any other.
//!
//! The pieces of its known fields are parsed each by itself. Unknown ones are left out, whatever is
//! wrong with them; what cannot be parsed gets a placeholder that fails for the same reason, or is
//! marked on the [`Element`] that was read.

use std::borrow::Cow;

use simd_json::Node;

use crate::parse::{Parser, TAPE_BYTES_MAX, pieces};

use super::{
    element::{Alias, Element, Field, Sent},
    properties,
};

/// Stands for a number past 64 bits or past any double: past every limit too.
const HUGE_NUMBER: &str = "1e99";
/// Stands for any object or array in a field that takes none.
const CONTAINER: &str = "[]";

const PROPERTIES: &str = "properties";
const ALIAS: &str = "userAlias";
const FIELDS: [&str; 10] = [
    "userId",
    "eventName",
    PROPERTIES,
    "timestamp",
    "serviceUserId",
    "anonymousId",
    ALIAS,
    "sessionId",
    "deviceId",
    "clientEventId",
];
const ALIAS_FIELDS: [&str; 2] = ["aliasLabel", "aliasName"];

/// What a field's text came to.
pub(super) enum Piece<'b> {
    /// JSON that simd-json takes.
    Readable(Cow<'b, str>),
    /// A string with half of a surrogate pair.
    Unpaired,
    /// Properties that cannot be parsed, with the reason.
    Refused(String),
}

/// A known member of an object.
pub(super) struct Member<'b> {
    pub(super) name: &'static str,
    pub(super) piece: Piece<'b>,
}

/// A readable text of an element, and what has to be marked on what is read from it.
#[derive(Debug, Default)]
pub(super) struct RecoveredElement {
    text: String,
    unpaired: Vec<&'static str>,
    properties: Option<String>,
}

impl RecoveredElement {
    /// Rewrites the text of an object.
    pub(super) fn from(object: &str, parser: &mut Parser) -> Self {
        let mut recovered = Self::default();
        let mut alias = Self::default();
        let kept = known_members(object, &FIELDS, parser, |name, text, parser| match name {
            PROPERTIES if text.starts_with('{') => properties_piece(text, parser),
            ALIAS if text.starts_with('{') => {
                alias = Self::default();
                let parts = known_members(text, &ALIAS_FIELDS, parser, |_, text, parser| {
                    piece(text, parser)
                });
                alias.write(parts);
                Piece::Readable(Cow::Owned(alias.text.clone()))
            }
            _ => piece(text, parser),
        });
        recovered.write(kept);
        recovered.unpaired.append(&mut alias.unpaired);
        recovered
    }

    /// JSON that simd-json takes.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Marks what could not be parsed on the element read from [`text`](Self::text).
    pub(super) fn mark(&self, element: &mut Element<'_, '_>) {
        for name in &self.unpaired {
            let slot = match (*name, &mut element.alias) {
                ("aliasLabel", Alias::Parts { label, .. }) => Some(label),
                ("aliasName", Alias::Parts { name, .. }) => Some(name),
                _ => element.field_mut(name),
            };
            if let Some(slot) = slot {
                *slot = Field::Unpaired;
            }
        }
        if let Some(reason) = &self.properties {
            element.properties = Sent::Refused(reason.clone());
        }
    }

    fn write(&mut self, members: Vec<Member<'_>>) {
        self.text.push('{');
        for Member { name, piece } in members {
            match piece {
                Piece::Readable(text) => {
                    let separator = if self.text.len() > 1 { "," } else { "" };
                    self.text.extend([separator, "\"", name, "\":", &text]);
                }
                Piece::Unpaired => self.unpaired.push(name),
                Piece::Refused(reason) => self.properties = Some(reason),
            }
        }
        self.text.push('}');
    }
}

/// The members of an object that have one of these names, the last of each.
pub(super) fn known_members<'b>(
    object: &'b str,
    names: &[&'static str],
    parser: &mut Parser,
    mut read: impl FnMut(&'static str, &'b str, &mut Parser) -> Piece<'b>,
) -> Vec<Member<'b>> {
    let mut known: Vec<Member<'b>> = Vec::with_capacity(names.len());
    let taken = pieces::members(object, |key, text| {
        let Some(name) = known_name(key, names, parser) else { return };
        let piece = read(name, text, parser);
        match known.iter_mut().find(|earlier| earlier.name == name) {
            Some(earlier) => earlier.piece = piece,
            None => known.push(Member { name, piece }),
        }
    });
    debug_assert!(taken.is_ok(), "the grammar was checked when the body was taken apart");
    known
}

/// The name that a key, in its quotes, means.
pub(super) fn known_name(
    key: &str,
    names: &[&'static str],
    parser: &mut Parser,
) -> Option<&'static str> {
    let find = |key: &str| names.iter().find(|name| **name == key).copied();
    if !key.contains('\\') {
        return find(key.trim_matches('"'));
    }
    parser.parse(key.as_bytes(), |nodes| match nodes.first() {
        Some(Node::String(key)) => find(key),
        _ => None,
    })?
}

/// A field that takes neither object nor array.
pub(super) fn piece<'b>(text: &'b str, parser: &mut Parser) -> Piece<'b> {
    let first = text.as_bytes().first();
    if matches!(first, Some(b'{' | b'[')) {
        return Piece::Readable(CONTAINER.into());
    }
    match (first, parser.parse(text.as_bytes(), |_| ())) {
        (_, Some(())) => Piece::Readable(text.into()),
        (Some(b'"'), None) => Piece::Unpaired,
        (_, None) => Piece::Readable(HUGE_NUMBER.into()),
    }
}

pub(super) fn properties_piece<'b>(text: &'b str, parser: &mut Parser) -> Piece<'b> {
    let is_good = text.len() <= TAPE_BYTES_MAX && parser.parse(text.as_bytes(), |_| ()).is_some();
    if is_good {
        Piece::Readable(text.into())
    } else {
        Piece::Refused(properties::reason(text, parser))
    }
}
