//! Filters on membership in a subscription list or a segment.
//!
//! The id is in `field`, or in `value` with `field` absent or equal to `listId` or `segmentId`.

use kernel::{
    ListId, SegmentId,
    fields::{Fields, word_for},
};
use serde_json::Value;
use uuid::{Uuid, fmt::Hyphenated};

use super::FilterBody;
use crate::model::{FIELD_CHARS_MAX, word};

const OPERATORS: &[(&str, bool)] = &[("member", false), ("not_member", true)];
/// The text that may be in `field` when the id of a list is in `value`.
const LIST_LABEL: &str = "listId";
/// The same for a segment.
const SEGMENT_LABEL: &str = "segmentId";

/// The field in which an id was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum IdField {
    #[default]
    Field,
    Value,
    /// In `value`, with the label in `field`.
    LabelledValue,
}

/// An id, and the field in which it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct SentId {
    id: String,
    sent_in: IdField,
    not: bool,
}

impl SentId {
    /// Reads the id and the operator. `label` is permitted in `field` when the id is in `value`.
    fn read(body: &mut Fields<'_>, label: &str) -> Self {
        let not = word::read(body.required("operator"), OPERATORS).unwrap_or(false);
        if body.optional("value").unchecked().is_null() {
            let id = body.required("field").text(1..=FIELD_CHARS_MAX);
            return Self { id, sent_in: IdField::Field, not };
        }
        let id = body.required("value").text(1..=FIELD_CHARS_MAX);
        let field = body.optional("field").text(1..=FIELD_CHARS_MAX);
        if field.as_deref().is_some_and(|field| field != label) {
            body.refuse("field", format!("must be absent or {label} where the id is in value"));
        }
        let sent_in = field.map_or(IdField::Value, |_| IdField::LabelledValue);
        Self { id, sent_in, not }
    }

    fn field_name(&self) -> &'static str {
        if self.sent_in == IdField::Field { "field" } else { "value" }
    }

    fn body(&self, kind: &'static str, label: &str) -> FilterBody {
        let id = self.id.clone();
        let (field, value) = match self.sent_in {
            IdField::Field => (Some(id), None),
            IdField::Value => (None, Some(Value::String(id))),
            IdField::LabelledValue => (Some(label.to_owned()), Some(Value::String(id))),
        };
        FilterBody { kind, field, operator: word_for(OPERATORS, self.not), value }
    }
}

/// Members of a list: with a `subscribed` row on the campaign's channel, or on any channel if the campaign has
/// none that needs consent. An unknown or archived list has no members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFilter {
    sent: SentId,
    list: ListId,
}

impl ListFilter {
    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        let sent = SentId::read(body, LIST_LABEL);
        let list = sent.id.parse().unwrap_or_else(|_| {
            if !sent.id.is_empty() {
                body.refuse(sent.field_name(), "must be the id of a list, a UUID");
            }
            ListId::new(Uuid::nil())
        });
        Self { sent, list }
    }

    pub const fn list(&self) -> ListId {
        self.list
    }

    pub const fn not(&self) -> bool {
        self.sent.not
    }

    pub(super) fn body(&self) -> FilterBody {
        self.sent.body("list", LIST_LABEL)
    }
}

/// Profiles that a segment matches now. An unknown segment has no members; a text that is no UUID names none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentFilter {
    sent: SentId,
    segment: Option<SegmentId>,
}

impl SegmentFilter {
    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        let sent = SentId::read(body, SEGMENT_LABEL);
        // Only the usual form names a segment: `campaign.segment_ids` compares texts.
        let is_usual = sent.id.len() == Hyphenated::LENGTH;
        let segment = if is_usual { sent.id.parse().ok() } else { None };
        Self { sent, segment }
    }

    /// The segment; `None` where the id that was sent cannot be one.
    pub const fn segment(&self) -> Option<SegmentId> {
        self.segment
    }

    /// The name of the field in which the id was sent.
    pub fn id_field(&self) -> &'static str {
        self.sent.field_name()
    }

    pub const fn not(&self) -> bool {
        self.sent.not
    }

    pub(super) fn body(&self) -> FilterBody {
        self.sent.body("segment", SEGMENT_LABEL)
    }
}
