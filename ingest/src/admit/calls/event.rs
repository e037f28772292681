//! A call that becomes an event.

use crate::model::limits::{EVENT_NAME_CHARS_MAX, IDENTIFIER_CHARS_MAX};

use super::{
    super::{
        element::{Field, Sent},
        identifiers::text,
        properties::Optional,
        validate::{Moment, ValidEvent, is_blank},
    },
    Adjustments, CallPlace, CallReader, CallRequest, CallRules,
    call::{Call, Known},
    mapping,
    moment::{self, Times},
};

/// The property that a call's context is kept as.
const CONTEXT: &str = "context";

/// Who did it, under which id, and when.
#[derive(Debug, Default)]
pub(super) struct Headings<'a> {
    pub(super) user_id: &'a str,
    pub(super) anonymous_id: &'a str,
    pub(super) message_id: &'a str,
    pub(super) moment: Moment,
    /// What the call is named in its protocol, where it changes a profile and is nothing else.
    pub(super) sent_as: &'a str,
}

impl<'a> Headings<'a> {
    /// Reads what all calls have; adds a message for each field at fault.
    pub(super) fn read(
        call: &Call<'_, 'a>,
        place: CallPlace<'_>,
        request: &CallRequest<'_>,
        errors: &mut Vec<String>,
    ) -> Self {
        let names = request.rules.protocol.names();
        let mut identifier =
            |name, field: &Field<'a>| text(name, field, IDENTIFIER_CHARS_MAX, errors);
        let user_id = identifier(names.user_id, &call.user_id);
        let anonymous_id = identifier(names.anonymous_id, &call.anonymous_id);
        let message_id = identifier(names.message_id, &call.message_id);
        let sent_at = if is_blank(&call.sent_at) { place.sent_at } else { call.sent_at };
        let moment = moment::of(Times {
            timestamp: &call.timestamp,
            offset: &call.offset,
            sent_at: &sent_at,
            received_at_ms: request.request.context.received_at_ms,
        })
        .unwrap_or_else(|fault| {
            // Faults are worded for `timestamp`.
            let name = call.time_field.unwrap_or("timestamp");
            errors.push(fault.replacen("timestamp", name, 1));
            Moment::default()
        });
        Self { user_id, anonymous_id, message_id, moment, sent_as: "" }
    }
}

impl CallReader<'_> {
    /// Adds the event that a call says, and what it says of a profile beside it.
    pub(super) fn event(
        &mut self,
        call: &Call<'_, '_>,
        name: &str,
        place: CallPlace<'_>,
        request: &mut CallRequest<'_>,
    ) -> Result<(), Vec<String>> {
        let CallRules { protocol, .. } = request.rules;
        let mut errors = Vec::new();
        // Names that the mapping gives are within the limit.
        if name.is_empty() || !is_given(name) {
            text("event", &call.event, EVENT_NAME_CHARS_MAX, &mut errors);
            if is_blank(&call.event) {
                errors.push("event is required".to_owned());
            }
        }
        let mut headings = Headings::read(call, place, request, &mut errors);
        if mapping::is_anonymous(call) {
            let names = protocol.names();
            errors.push(match protocol {
                super::Protocol::Segment => {
                    format!("{} or {} is required", names.user_id, names.anonymous_id)
                }
                super::Protocol::PostHog => format!("{} is required", names.user_id),
            });
        }
        if call.known == Known::NoProfile {
            headings.anonymous_id = std::mem::take(&mut headings.user_id);
        }
        let mut adjusted = Adjustments { cut: call.left_out, ..call.adjusted() };
        let made = mapping::properties(call, name, protocol, &mut adjusted);
        match &call.properties {
            Sent::Refused(reason) => errors.push(reason.clone()),
            Sent::Other => errors.push("properties must be an object".to_owned()),
            Sent::Absent | Sent::Object { .. } => {
                let has_own = made.iter().any(|member| member.name == CONTEXT);
                let object = call.context.filter(|_| !has_own);
                let context = Optional { name: CONTEXT, object };
                let cut = self.processor.properties.compose(&made, context);
                adjusted.cut += cut as u64 + u64::from(has_own && call.context.is_some());
                errors.extend(self.processor.properties.fault().map(ToOwned::to_owned));
            }
        }
        let changes = self.changes(call, request, &mut adjusted, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let valid = ValidEvent {
            event_name: name,
            user_id: headings.user_id,
            anonymous_id: headings.anonymous_id,
            session_id: short(&call.session_id),
            device_id: short(&call.device_id),
            client_event_id: headings.message_id,
            moment: headings.moment,
            ..ValidEvent::default()
        };
        let properties = made.iter().map(|member| (member.name.as_ref(), member.value));
        let position = request.request.builder.position();
        self.processor.encode(&valid, properties, &mut request.request);
        request.adjust_event(position, adjusted);
        self.push_changes(&headings, &changes, "", request);
        Ok(())
    }
}

/// Whether a name is one that the mapping gives.
fn is_given(name: &str) -> bool {
    matches!(name, "Page Viewed" | "Screen Viewed")
}

/// An identifier that PostHog's browser SDK adds, where it is one. It is no fault when it is not.
fn short<'a>(field: &Field<'a>) -> &'a str {
    text("", field, IDENTIFIER_CHARS_MAX, &mut Vec::new())
}
