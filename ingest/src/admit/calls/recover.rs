//! A call that simd-json refuses, rewritten so that it can be read like any other.

use crate::parse::Parser;

use super::{
    super::{
        element::{Field, Sent},
        recover::{Piece, known_members, piece, properties_piece},
    },
    call::{Call, FieldNames},
};

/// A readable text of a call, and what has to be marked on what is read from it.
#[derive(Debug, Default)]
pub(super) struct RecoveredCall {
    text: String,
    unpaired: Vec<&'static str>,
    refused: Vec<Refused>,
}

/// An object that cannot be parsed, with the reason.
#[derive(Debug)]
struct Refused {
    name: &'static str,
    reason: String,
}

impl RecoveredCall {
    /// Rewrites the text of an object.
    pub(super) fn from(object: &str, names: &FieldNames, parser: &mut Parser) -> Self {
        let mut recovered = Self::default();
        let known = [names.plain, names.objects].concat();
        let kept = known_members(object, &known, parser, |name, text, parser| {
            if names.objects.contains(&name) && text.starts_with('{') {
                properties_piece(text, parser)
            } else {
                piece(text, parser)
            }
        });
        recovered.text.push('{');
        for member in kept {
            match member.piece {
                Piece::Readable(text) => {
                    let separator = if recovered.text.len() > 1 { "," } else { "" };
                    recovered.text.extend([separator, "\"", member.name, "\":", &text]);
                }
                Piece::Unpaired => recovered.unpaired.push(member.name),
                Piece::Refused(reason) => {
                    recovered.refused.push(Refused { name: member.name, reason });
                }
            }
        }
        recovered.text.push('}');
        recovered
    }

    /// JSON that simd-json takes.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Marks what could not be parsed on the call read from [`text`](Self::text).
    pub(super) fn mark(&self, call: &mut Call<'_, '_>) {
        for name in &self.unpaired {
            match call.field_mut(name) {
                Some(slot) => *slot = Field::Unpaired,
                None => call.left_out += 1,
            }
        }
        for Refused { name, reason } in &self.refused {
            match *name {
                "properties" => call.properties = Sent::Refused(reason.clone()),
                "traits" | "$set" => call.traits = Sent::Refused(reason.clone()),
                "$set_once" => call.once = Sent::Refused(reason.clone()),
                _ => {
                    call.context_fault = Some(reason.clone());
                    call.left_out += 1;
                }
            }
        }
        call.has_fields |= !self.unpaired.is_empty() || !self.refused.is_empty();
    }
}
