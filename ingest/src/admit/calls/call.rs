//! The fields of one call, as sent.

use simd_json::{Node, StaticNode};

use crate::parse::{elements, members};

use super::{
    super::element::{Field, Sent, field, sent},
    Adjustments, Protocol,
};

/// What the fields of a protocol are called.
#[derive(Debug)]
pub(super) struct FieldNames {
    pub(super) user_id: &'static str,
    pub(super) anonymous_id: &'static str,
    pub(super) previous_id: &'static str,
    pub(super) group_id: &'static str,
    pub(super) message_id: &'static str,
    pub(super) traits: &'static str,
    /// Likewise of a group.
    pub(super) group_traits: &'static str,
    /// Fields that take neither object nor array.
    pub(super) plain: &'static [&'static str],
    /// Fields that take an object.
    pub(super) objects: &'static [&'static str],
}

/// Segment's names, which RudderStack took over.
pub(super) const SEGMENT: FieldNames = FieldNames {
    user_id: "userId",
    anonymous_id: "anonymousId",
    previous_id: "previousId",
    group_id: "groupId",
    message_id: "messageId",
    traits: "traits",
    group_traits: "traits",
    plain: &[
        "type",
        "event",
        "userId",
        "anonymousId",
        "previousId",
        "groupId",
        "messageId",
        "timestamp",
        "originalTimestamp",
        "sentAt",
        "name",
        "category",
    ],
    objects: &["properties", "traits", "context"],
};

/// The names of PostHog's capture API.
pub(super) const POSTHOG: FieldNames = FieldNames {
    user_id: "distinct_id",
    anonymous_id: "$anon_distinct_id",
    previous_id: "alias",
    group_id: "$group_key",
    message_id: "uuid",
    traits: "$set",
    group_traits: "$group_set",
    plain: &["event", "distinct_id", "uuid", "timestamp", "offset", "sent_at"],
    objects: &["properties", "$set", "$set_once"],
};

/// The SDK whose aliases have the previous id as `distinct_id`.
const REVERSED: &str = "posthog-python";

/// An identifier of a call.
#[derive(Debug, Clone, Copy)]
enum Id {
    User,
    Anonymous,
    Previous,
    Group,
    Message,
}

/// Number of identifiers that a call may have.
const IDS: usize = 5;

impl Id {
    const ALL: [Self; IDS] =
        [Self::User, Self::Anonymous, Self::Previous, Self::Group, Self::Message];

    /// The identifier that a field beside the properties holds.
    fn named(key: &str) -> Option<Self> {
        Some(match key {
            "userId" | "distinct_id" => Self::User,
            "anonymousId" => Self::Anonymous,
            "previousId" => Self::Previous,
            "groupId" => Self::Group,
            "messageId" | "uuid" => Self::Message,
            _ => return None,
        })
    }
}

/// Texts of the identifiers that were sent as whole numbers, by place.
pub(super) type NumberTexts = [Option<String>; IDS];

/// What PostHog's SDKs say of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Known {
    #[default]
    Person,
    /// `$is_identified` is false: the SDK made the id up.
    Visitor,
    /// `$process_person_profile` is false: likewise, and there is to be no profile.
    NoProfile,
}

/// The known fields of one call of either protocol. A key sent twice counts as sent last.
#[derive(Debug, Default)]
pub(super) struct Call<'t, 'a> {
    pub(super) kind: Field<'a>,
    pub(super) event: Field<'a>,
    pub(super) user_id: Field<'a>,
    pub(super) anonymous_id: Field<'a>,
    pub(super) previous_id: Field<'a>,
    pub(super) group_id: Field<'a>,
    pub(super) message_id: Field<'a>,
    pub(super) timestamp: Field<'a>,
    pub(super) original_timestamp: Field<'a>,
    /// The field that `timestamp` was read from, where it is another one.
    pub(super) time_field: Option<&'static str>,
    pub(super) sent_at: Field<'a>,
    /// Milliseconds from the event to its sending.
    pub(super) offset: Field<'a>,
    pub(super) session_id: Field<'a>,
    pub(super) device_id: Field<'a>,
    /// `name` and `category` of pages and screens, where they are not null.
    pub(super) name: Option<&'t [Node<'a>]>,
    pub(super) category: Option<&'t [Node<'a>]>,
    pub(super) properties: Sent<'t, 'a>,
    pub(super) traits: Sent<'t, 'a>,
    /// Traits for a profile that has none of these names.
    pub(super) once: Sent<'t, 'a>,
    pub(super) context: Option<&'t [Node<'a>]>,
    /// Why the context cannot be read, where it cannot.
    pub(super) context_fault: Option<String>,
    /// Optional fields that cannot be read, the context included.
    pub(super) left_out: u64,
    /// Names of attributes that are to be removed, which no call can.
    pub(super) unset: u64,
    /// The identifiers that were sent as whole numbers, by place.
    whole: [Option<i128>; IDS],
    /// How many of them were.
    pub(super) numbers: u64,
    /// Who the user of a call of PostHog's protocol is.
    pub(super) known: Known,
    /// Whether its SDK names the ids of an alias in the other order: PostHog's for Python does.
    pub(super) is_reversed: bool,
    /// Whether it has any field of an event at all.
    pub(super) has_fields: bool,
}

impl<'t, 'a> Call<'t, 'a> {
    /// Collects the fields of a call.
    pub(super) fn read(&mut self, object: &'t [Node<'a>], protocol: Protocol) {
        match protocol {
            Protocol::Segment => self.read_segment(object),
            Protocol::PostHog => self.read_posthog(object),
        }
    }

    /// Collects the fields of a call of Segment's protocol.
    fn read_segment(&mut self, object: &'t [Node<'a>]) {
        for (key, value) in members(object) {
            match key {
                "properties" => self.properties = sent(key, value),
                "traits" => self.traits = sent(key, value),
                "context" => self.context = object_of(value),
                "name" => self.name = not_null(value),
                "category" => self.category = not_null(value),
                // Of the request, not of an event.
                "sentAt" => {
                    self.sent_at = field(value);
                    continue;
                }
                _ if self.take_field(key, value) => {}
                _ => continue,
            }
            self.has_fields = true;
        }
        if matches!(self.timestamp, Field::Absent) {
            self.timestamp = self.original_timestamp;
            self.time_field = Some("originalTimestamp");
        }
    }

    /// Takes the traits of a user from the context, where there are no others: rudder-sdk-python sends those of identify
    /// there alone. What a call says of a group never stands there, since a context describes the user.
    pub(super) fn take_traits_of_context(&mut self) {
        if let (Sent::Absent, Some(context)) = (&self.traits, self.context) {
            let traits = members(context).filter(|(key, _)| *key == "traits").last();
            self.traits = traits.map_or(Sent::Absent, |(key, value)| sent(key, value));
        }
    }

    /// Collects the fields of a call of PostHog's protocol: some stand beside the properties or among them.
    fn read_posthog(&mut self, object: &'t [Node<'a>]) {
        for (key, value) in members(object) {
            match key {
                "properties" => self.properties = sent(key, value),
                "$set" => self.traits = sent(key, value),
                "$set_once" => self.once = sent(key, value),
                "$unset" => self.unset = names_in(value),
                "sent_at" => {
                    self.sent_at = field(value);
                    continue;
                }
                _ if self.take_field(key, value) => {}
                _ => continue,
            }
            self.has_fields = true;
        }
        if let Sent::Object { nodes, .. } = self.properties {
            self.read_posthog_properties(nodes);
        }
    }

    fn read_posthog_properties(&mut self, properties: &'t [Node<'a>]) {
        let (has_traits, has_once) =
            (!matches!(self.traits, Sent::Absent), !matches!(self.once, Sent::Absent));
        let (has_user, has_unset) = (!matches!(self.user_id, Field::Absent), self.unset > 0);
        for (key, value) in members(properties) {
            match key {
                "$set" | "$group_set" if !has_traits => self.traits = sent(key, value),
                "$set_once" if !has_once => self.once = sent(key, value),
                "$unset" if !has_unset => self.unset = names_in(value),
                "distinct_id" if !has_user => self.take_id(Id::User, value),
                "$anon_distinct_id" => self.take_id(Id::Anonymous, value),
                "alias" => self.take_id(Id::Previous, value),
                "$lib" => self.is_reversed = value.first() == Some(&Node::String(REVERSED)),
                "$session_id" => self.session_id = field(value),
                "$device_id" => self.device_id = field(value),
                "$group_key" => self.take_id(Id::Group, value),
                "$process_person_profile" if is_false(value) => self.known = Known::NoProfile,
                "$is_identified" if self.known == Known::Person && is_false(value) => {
                    self.known = Known::Visitor;
                }
                _ => {}
            }
        }
    }

    /// Takes the field of that key, of those that take neither object nor array; gives whether it is one.
    fn take_field(&mut self, key: &str, value: &[Node<'a>]) -> bool {
        if let Some(id) = Id::named(key) {
            self.take_id(id, value);
            return true;
        }
        let Some(slot) = self.other_mut(key) else { return false };
        *slot = field(value);
        true
    }

    fn take_id(&mut self, id: Id, value: &[Node<'a>]) {
        *self.id_mut(id) = field(value);
        self.whole[id as usize] = whole(value);
    }

    fn id_mut(&mut self, id: Id) -> &mut Field<'a> {
        match id {
            Id::User => &mut self.user_id,
            Id::Anonymous => &mut self.anonymous_id,
            Id::Previous => &mut self.previous_id,
            Id::Group => &mut self.group_id,
            Id::Message => &mut self.message_id,
        }
    }

    /// The texts of the identifiers that were sent as whole numbers: SDKs for Python send some as they were given.
    pub(super) fn number_texts(&self) -> NumberTexts {
        self.whole.map(|number| number.map(|number| number.to_string()))
    }

    /// The same call, with these texts as its identifiers.
    pub(super) fn with_texts(mut self, texts: &'a NumberTexts) -> Self {
        for (id, text) in Id::ALL.into_iter().zip(texts) {
            let slot = self.id_mut(id);
            if let Some(text) = text
                && matches!(slot, Field::Number(_))
            {
                *slot = Field::Text(text);
                self.numbers += 1;
            }
        }
        self
    }

    /// The field of that key, of those that take neither object nor array.
    pub(super) fn field_mut(&mut self, key: &str) -> Option<&mut Field<'a>> {
        match Id::named(key) {
            Some(id) => Some(self.id_mut(id)),
            None => self.other_mut(key),
        }
    }

    /// Likewise, of those that are no identifiers.
    fn other_mut(&mut self, key: &str) -> Option<&mut Field<'a>> {
        Some(match key {
            "type" => &mut self.kind,
            "event" => &mut self.event,
            "timestamp" => &mut self.timestamp,
            "originalTimestamp" => &mut self.original_timestamp,
            "sentAt" | "sent_at" => &mut self.sent_at,
            "offset" => &mut self.offset,
            _ => return None,
        })
    }

    /// What is changed about it, whatever it becomes.
    pub(super) fn adjusted(&self) -> Adjustments {
        Adjustments { renamed: self.numbers, dropped: self.unset, ..Adjustments::default() }
    }

    /// The nodes of the properties; none when they are not an object.
    pub(super) fn property_nodes(&self) -> &'t [Node<'a>] {
        nodes_of(&self.properties)
    }
}

/// The nodes of an object; none of anything else.
pub(super) fn nodes_of<'t, 'a>(sent: &Sent<'t, 'a>) -> &'t [Node<'a>] {
    match sent {
        Sent::Object { nodes, .. } => nodes,
        Sent::Absent | Sent::Refused(_) | Sent::Other => &[],
    }
}

/// A number without a fraction or an exponent.
fn whole(value: &[Node<'_>]) -> Option<i128> {
    match value.first() {
        Some(Node::Static(StaticNode::I64(number))) => Some((*number).into()),
        Some(Node::Static(StaticNode::U64(number))) => Some((*number).into()),
        _ => None,
    }
}

/// Names in a list, or in an object.
fn names_in(value: &[Node<'_>]) -> u64 {
    match value.first() {
        Some(Node::Array { .. }) => elements(value).count() as u64,
        Some(Node::Object { .. }) => members(value).count() as u64,
        Some(Node::String(_)) => 1,
        _ => 0,
    }
}

fn object_of<'t, 'a>(value: &'t [Node<'a>]) -> Option<&'t [Node<'a>]> {
    matches!(value.first(), Some(Node::Object { .. })).then_some(value)
}

fn not_null<'t, 'a>(value: &'t [Node<'a>]) -> Option<&'t [Node<'a>]> {
    (value.first() != Some(&Node::Static(StaticNode::Null))).then_some(value)
}

fn is_false(value: &[Node<'_>]) -> bool {
    value.first() == Some(&Node::Static(StaticNode::Bool(false)))
}
