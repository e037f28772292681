//! The fields of one element, as sent.

use simd_json::{Node, StaticNode};

use crate::{
    model::limits::EVENT_NAME_CHARS_MAX,
    parse::{members, number},
};

/// Characters of a text that a refusal shows: those of the longest name and the longest identifier.
const SHOWN_CHARS_MAX: usize = EVENT_NAME_CHARS_MAX;

/// A field's value before validation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Field<'a> {
    /// Not sent, or null.
    #[default]
    Absent,
    Text(&'a str),
    Number(f64),
    /// A string with half of a surrogate pair.
    Unpaired,
    /// Something no field takes.
    Other,
}

impl Field<'_> {
    /// The text for a refusal, where it is one.
    pub(super) fn shown(self) -> Option<String> {
        let Self::Text(text) = self else { return None };
        Some(text.chars().take(SHOWN_CHARS_MAX).collect())
    }
}

/// Value of `userAlias` before validation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Alias<'a> {
    /// Not sent, or null.
    #[default]
    Absent,
    Parts {
        /// Value of `aliasLabel`, absent or present.
        label: Field<'a>,
        /// Value of `aliasName`, absent or present.
        name: Field<'a>,
    },
    /// A value of another JSON type.
    Other,
}

/// Value of `properties` before validation.
#[derive(Debug, Clone, Default)]
pub(super) enum Sent<'t, 'a> {
    /// Not sent, or null.
    #[default]
    Absent,
    Object {
        /// The key it was sent under, which stands before it in the text.
        key: &'a str,
        /// Nodes of the object on the tape.
        nodes: &'t [Node<'a>],
    },
    /// What cannot be parsed, with the reason.
    Refused(String),
    /// A value of another JSON type.
    Other,
}

/// The known fields of one element. A key sent twice counts as sent last.
#[derive(Debug, Default)]
pub(super) struct Element<'t, 'a> {
    /// The key that stands first, known or not.
    pub(super) first_key: Option<&'a str>,
    pub(super) user_id: Field<'a>,
    pub(super) event_name: Field<'a>,
    pub(super) properties: Sent<'t, 'a>,
    pub(super) timestamp: Field<'a>,
    pub(super) service_user_id: Field<'a>,
    pub(super) anonymous_id: Field<'a>,
    pub(super) alias: Alias<'a>,
    pub(super) session_id: Field<'a>,
    pub(super) device_id: Field<'a>,
    pub(super) client_event_id: Field<'a>,
}

impl<'t, 'a> Element<'t, 'a> {
    /// Collects the fields of an object.
    pub(super) fn read(&mut self, object: &'t [Node<'a>]) {
        if let Some(Node::String(key)) = object.get(1) {
            self.first_key = Some(key);
        }
        for (key, value) in members(object) {
            match key {
                "properties" => self.properties = sent(key, value),
                "userAlias" => self.alias = alias(value),
                // Unknown fields are ignored, so that callers may run ahead of us.
                _ => {
                    if let Some(slot) = self.field_mut(key) {
                        *slot = field(value);
                    }
                }
            }
        }
    }

    /// The field of that key, but for `properties` and `userAlias`.
    #[inline]
    pub(super) fn field_mut(&mut self, key: &str) -> Option<&mut Field<'a>> {
        Some(match key {
            "userId" => &mut self.user_id,
            "eventName" => &mut self.event_name,
            "timestamp" => &mut self.timestamp,
            "serviceUserId" => &mut self.service_user_id,
            "anonymousId" => &mut self.anonymous_id,
            "sessionId" => &mut self.session_id,
            "deviceId" => &mut self.device_id,
            "clientEventId" => &mut self.client_event_id,
            _ => return None,
        })
    }

    /// The nodes of the properties; none when they are not an object.
    pub(super) fn property_nodes(&self) -> &'t [Node<'a>] {
        match self.properties {
            Sent::Object { nodes, .. } => nodes,
            Sent::Absent | Sent::Refused(_) | Sent::Other => &[],
        }
    }
}

#[inline]
pub(super) fn field<'a>(value: &[Node<'a>]) -> Field<'a> {
    match value.first() {
        Some(Node::String(text)) => Field::Text(text),
        Some(Node::Static(StaticNode::Null)) => Field::Absent,
        Some(Node::Static(node)) => number(*node).map_or(Field::Other, Field::Number),
        _ => Field::Other,
    }
}

pub(super) fn sent<'t, 'a>(key: &'a str, value: &'t [Node<'a>]) -> Sent<'t, 'a> {
    match value.first() {
        Some(Node::Object { .. }) => Sent::Object { key, nodes: value },
        Some(Node::Static(StaticNode::Null)) => Sent::Absent,
        _ => Sent::Other,
    }
}

fn alias<'a>(value: &[Node<'a>]) -> Alias<'a> {
    match value.first() {
        Some(Node::Object { .. }) => {}
        Some(Node::Static(StaticNode::Null)) => return Alias::Absent,
        _ => return Alias::Other,
    }
    let (mut label, mut name) = (Field::Absent, Field::Absent);
    for (key, part) in members(value) {
        match key {
            "aliasLabel" => label = field(part),
            "aliasName" => name = field(part),
            _ => {}
        }
    }
    Alias::Parts { label, name }
}
