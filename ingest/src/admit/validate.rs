//! The verdict on one element.

use std::borrow::Cow;

use crate::{
    model::limits::{EVENT_NAME_CHARS_MAX, IDENTIFIER_CHARS_MAX},
    record::{EventView, Numbers},
};

use super::{
    Context,
    element::{Alias, Element, Field},
    identifiers::{alias, service_user_id, text},
    properties::Properties,
    timestamp,
};

/// When an event happened, in milliseconds since the epoch, and where the time comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Moment {
    /// The sender's: a repeat has the same day.
    Sent(i64),
    /// Not the sender's alone: a repeat may have another day.
    Corrected(i64),
    /// None was sent: the time of receipt.
    #[default]
    Received,
}

/// The fields of an element that broke no rule. Empty strings stand for absent ones.
#[derive(Debug, Default)]
pub(super) struct ValidEvent<'a> {
    pub(super) event_name: &'a str,
    pub(super) user_id: &'a str,
    pub(super) anonymous_id: &'a str,
    pub(super) service_user_id: Cow<'a, str>,
    pub(super) alias_label: &'a str,
    pub(super) alias_name: &'a str,
    pub(super) session_id: &'a str,
    pub(super) device_id: &'a str,
    pub(super) client_event_id: &'a str,
    pub(super) moment: Moment,
}

impl ValidEvent<'_> {
    /// The event as it is stored, but for its time and order.
    pub(super) fn view<'v>(
        &'v self,
        event_id: &'v str,
        properties: &'v str,
        numbers: Numbers<'v>,
    ) -> EventView<'v> {
        EventView {
            event_name: self.event_name,
            user_id: self.user_id,
            anonymous_id: self.anonymous_id,
            service_user_id: &self.service_user_id,
            alias_label: self.alias_label,
            alias_name: self.alias_name,
            event_id,
            session_id: self.session_id,
            device_id: self.device_id,
            properties,
            numbers,
            ..EventView::default()
        }
    }
}

/// Checks every field, in the order of the specification's table; gives one message per failed one.
pub(super) fn validate<'a>(
    element: &Element<'_, 'a>,
    properties: &Properties,
    context: &Context<'_>,
) -> Result<ValidEvent<'a>, Vec<String>> {
    let mut errors = Vec::new();
    let identifier = |name, field: &Field<'a>, errors: &mut Vec<String>| {
        text(name, field, IDENTIFIER_CHARS_MAX, errors)
    };

    let user_id = identifier("userId", &element.user_id, &mut errors);
    let event_name = text("eventName", &element.event_name, EVENT_NAME_CHARS_MAX, &mut errors);
    if is_blank(&element.event_name) {
        errors.push("eventName is required".to_owned());
    }
    errors.extend(properties.fault().map(ToOwned::to_owned));
    let moment = match timestamp::read(&element.timestamp, context.received_at_ms) {
        Ok(sent) => sent.map_or(Moment::Received, |ms| context.sender.moment(ms)),
        Err(message) => {
            errors.push(format!("timestamp {message}"));
            Moment::Received
        }
    };
    let service_user_id = service_user_id(&element.service_user_id, &mut errors);
    let anonymous_id = identifier("anonymousId", &element.anonymous_id, &mut errors);
    let (alias_label, alias_name) = alias(&element.alias, IDENTIFIER_CHARS_MAX, &mut errors);
    let session_id = identifier("sessionId", &element.session_id, &mut errors);
    let device_id = identifier("deviceId", &element.device_id, &mut errors);
    let id_chars_max = context.sender.event_id_chars_max(&element.client_event_id);
    let client_event_id =
        text("clientEventId", &element.client_event_id, id_chars_max, &mut errors);

    if is_anonymous(element) {
        let message = "userId, serviceUserId, anonymousId or userAlias is required";
        errors.insert(0, message.to_owned());
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(ValidEvent {
        event_name,
        user_id,
        anonymous_id,
        service_user_id,
        alias_label,
        alias_name,
        session_id,
        device_id,
        client_event_id,
        moment,
    })
}

/// Whether no identifier was so much as tried: one that is at fault has its own message.
fn is_anonymous(element: &Element<'_, '_>) -> bool {
    let alias_is_blank = match &element.alias {
        Alias::Absent => true,
        Alias::Parts { label, name } => is_blank(label) && is_blank(name),
        Alias::Other => false,
    };
    alias_is_blank
        && is_blank(&element.user_id)
        && is_blank(&element.service_user_id)
        && is_blank(&element.anonymous_id)
}

/// Whether a field is absent, null or the empty string.
pub(super) fn is_blank(field: &Field<'_>) -> bool {
    match field {
        Field::Absent => true,
        Field::Text(text) => text.is_empty(),
        Field::Number(_) | Field::Other | Field::Unpaired => false,
    }
}
