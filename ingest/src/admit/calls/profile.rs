//! What a call says of a profile.

use std::borrow::Cow;

use simd_json::Node;

use crate::{
    model::limits::IDENTIFIER_CHARS_MAX,
    parse::members,
    record::{ProfileBatchBuilder, ProfileCall, ProfileCallKind},
};

use super::{
    super::{
        Context,
        element::{Field, Sent, field},
        event_ids,
        identifiers::text,
        properties::{Member, Optional, Properties},
        validate::{Moment, is_blank},
    },
    Adjustments, CallKind, CallPlace, CallReader, CallRequest, CallRules, Protocol,
    call::{Call, Known, nodes_of},
    event::Headings,
    mapping,
};

/// The longest address that is looked at.
const ADDRESS_CHARS_MAX: usize = 1_000;
/// Nothing is kept beside the attributes.
const NO_OPTIONAL: Optional<'static, 'static> = Optional { name: "", object: None };
/// What a key without the scope of profiles gets.
const NO_SCOPE: &str = "a key with the scope users:write is required to change profiles";
/// Attributes that a group sets.
const GROUP_ID: &str = "groupId";
const GROUP: &str = "group";

/// The addresses among traits.
#[derive(Debug, Clone, Copy, Default)]
struct Addresses<'a> {
    email: &'a str,
    phone: &'a str,
}

/// What the traits of a call change; the attributes are in the buffers of the reader.
#[derive(Debug, Default)]
pub(super) struct Changes<'a> {
    /// What replaces known values.
    set: Option<Addresses<'a>>,
    /// What the profile gets where it has none.
    once: Option<Addresses<'a>>,
    /// Whether they make no profile: of a visitor who was not identified.
    is_known_only: bool,
}

impl Changes<'_> {
    const fn is_empty(&self) -> bool {
        self.set.is_none() && self.once.is_none()
    }
}

impl CallReader<'_> {
    /// Reads the traits that stand beside an event; none where it has none, where its sender knows no person, or
    /// where the key may not change profiles.
    pub(super) fn changes<'a>(
        &mut self,
        call: &Call<'_, 'a>,
        request: &CallRequest<'_>,
        adjusted: &mut Adjustments,
        errors: &mut Vec<String>,
    ) -> Changes<'a> {
        if request.rules.protocol == Protocol::Segment {
            return Changes::default();
        }
        if call.known == Known::NoProfile || !request.rules.may_change_profiles {
            adjusted.dropped += traits_count(call);
            return Changes::default();
        }
        self.traits(call, request, adjusted, errors)
    }

    /// Reads the traits of a call into the buffers.
    fn traits<'a>(
        &mut self,
        call: &Call<'_, 'a>,
        request: &CallRequest<'_>,
        adjusted: &mut Adjustments,
        errors: &mut Vec<String>,
    ) -> Changes<'a> {
        let name = request.rules.protocol.names().traits;
        let mut reading = Reading { request, adjusted, errors };
        Changes {
            set: reading.traits(&mut self.profile.attributes, &call.traits, name),
            once: reading.traits(&mut self.profile.once, &call.once, "$set_once"),
            is_known_only: call.known == Known::Visitor
                && matches!(call.anonymous_id, Field::Absent),
        }
    }

    /// Adds what changes a profile; the first change says that the anonymous id is the user's.
    pub(super) fn push_changes(
        &mut self,
        headings: &Headings<'_>,
        changes: &Changes<'_>,
        anonymous_id: &str,
        request: &mut CallRequest<'_>,
    ) {
        let is_known_only = changes.is_known_only;
        if let Some(Addresses { email, phone }) = changes.set {
            let sent_as = named(headings, "$set");
            let call = ProfileCall {
                is_known_only,
                anonymous_id,
                email,
                phone,
                sent_as,
                ..ProfileCall::default()
            };
            let attributes = std::mem::take(&mut self.profile.attributes);
            self.push(headings, ProfileCall { attributes: attributes.text(), ..call }, request);
            self.profile.attributes = attributes;
        }
        if let Some(Addresses { email, phone }) = changes.once {
            let sent_as = named(headings, "$set_once");
            let call = ProfileCall {
                is_once: true,
                is_known_only,
                email,
                phone,
                sent_as,
                ..ProfileCall::default()
            };
            let attributes = std::mem::take(&mut self.profile.once);
            self.push(headings, ProfileCall { attributes: attributes.text(), ..call }, request);
            self.profile.once = attributes;
        }
    }

    /// Adds a call that sets traits of a user, and says which anonymous id is theirs.
    pub(super) fn identify(
        &mut self,
        call: &Call<'_, '_>,
        place: CallPlace<'_>,
        request: &mut CallRequest<'_>,
    ) -> Result<(), Vec<String>> {
        let mut errors = Vec::new();
        let mut headings = Headings::read(call, place, request, &mut errors);
        headings.sent_as = sent_as(call, request.rules.protocol, CallKind::Identify);
        let mut adjusted = call.adjusted();
        let mut changes = self.traits(call, request, &mut adjusted, &mut errors);
        errors.extend(properties_fault(call, request.rules.protocol));
        errors.extend(context_fault(call));
        check_scope(request.rules, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        // To remove attributes is all that it asks for.
        let is_only_unset =
            call.unset > 0 && changes.is_empty() && headings.anonymous_id.is_empty();
        if headings.user_id.is_empty() || is_only_unset {
            self.push_without_user(&headings, call, traits_count(call), request);
            return Ok(());
        }
        // Also without traits it names someone.
        changes.set.get_or_insert_default();
        let position = request.profiles.position();
        self.push_changes(&headings, &changes, headings.anonymous_id, request);
        request.adjust_profile_call(position, adjusted);
        Ok(())
    }

    /// Adds a call that says which group a user belongs to.
    pub(super) fn group(
        &mut self,
        call: &Call<'_, '_>,
        place: CallPlace<'_>,
        request: &mut CallRequest<'_>,
    ) -> Result<(), Vec<String>> {
        let mut errors = Vec::new();
        let protocol = request.rules.protocol;
        let names = protocol.names();
        let mut headings = Headings::read(call, place, request, &mut errors);
        headings.sent_as = sent_as(call, protocol, CallKind::Group);
        let group_id = text(names.group_id, &call.group_id, IDENTIFIER_CHARS_MAX, &mut errors);
        let unreadable = properties_fault(call, protocol);
        if is_blank(&call.group_id) && unreadable.is_none() {
            errors.push(format!("{} is required", names.group_id));
        }
        errors.extend(unreadable);
        check_scope(request.rules, &mut errors);
        // One at fault has its own message.
        let group = [Node::String(group_id)];
        let group = (!group_id.is_empty()).then_some(&group[..]);
        // SDKs send an empty object where a caller gave no traits.
        let traits = object(&call.traits).filter(|nodes| members(nodes).next().is_some());
        let made: Vec<Member<'_, '_>> = [(GROUP_ID, group), (GROUP, traits)]
            .into_iter()
            .filter_map(|(name, value)| Some(Member { name: Cow::Borrowed(name), value: value? }))
            .collect();
        self.profile.attributes.compose(&made, NO_OPTIONAL);
        let name = names.group_traits;
        let fault = traits_fault(&call.traits, &self.profile.attributes, name);
        // As the caller sent them: not within the attribute that they become.
        let (kept, sent) = (format!("{name}.{GROUP}."), format!("{name}."));
        errors.extend(fault.map(|fault| fault.replacen(&kept, &sent, 1)));
        if !errors.is_empty() {
            return Err(errors);
        }
        if headings.user_id.is_empty() {
            self.push_without_user(&headings, call, traits_count(call) + 1, request);
            return Ok(());
        }
        // PostHog's SDKs make an id up where none was given.
        let is_known_only = protocol == Protocol::PostHog;
        let attributes = std::mem::take(&mut self.profile.attributes);
        let set =
            ProfileCall { is_known_only, attributes: attributes.text(), ..ProfileCall::default() };
        let position = request.profiles.position();
        self.push(&headings, set, request);
        request.adjust_profile_call(position, call.adjusted());
        self.profile.attributes = attributes;
        Ok(())
    }

    /// Adds a call that says that two ids are one person.
    pub(super) fn alias(
        &mut self,
        call: &Call<'_, '_>,
        place: CallPlace<'_>,
        request: &mut CallRequest<'_>,
    ) -> Result<(), Vec<String>> {
        let mut errors = Vec::new();
        let names = request.rules.protocol.names();
        let mut headings = Headings::read(call, place, request, &mut errors);
        headings.sent_as = sent_as(call, request.rules.protocol, CallKind::Alias);
        let mut previous_id =
            text(names.previous_id, &call.previous_id, IDENTIFIER_CHARS_MAX, &mut errors);
        let unreadable = properties_fault(call, request.rules.protocol);
        for (name, field) in
            [(names.previous_id, &call.previous_id), (names.user_id, &call.user_id)]
        {
            if is_blank(field) && unreadable.is_none() {
                errors.push(format!("{name} is required"));
            }
        }
        errors.extend(unreadable);
        check_scope(request.rules, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        if call.is_reversed {
            std::mem::swap(&mut headings.user_id, &mut previous_id);
        }
        let kind = match request.rules.protocol {
            Protocol::Segment => ProfileCallKind::Alias,
            Protocol::PostHog => ProfileCallKind::Join,
        };
        let position = request.profiles.position();
        self.push(&headings, ProfileCall { kind, previous_id, ..ProfileCall::default() }, request);
        request.adjust_profile_call(position, call.adjusted());
        Ok(())
    }

    /// Counts the traits of a call without a user, and shows the call to listeners.
    fn push_without_user(
        &mut self,
        headings: &Headings<'_>,
        call: &Call<'_, '_>,
        traits: u64,
        request: &mut CallRequest<'_>,
    ) {
        let mut adjusted = call.adjusted();
        adjusted.dropped += traits;
        request.adjusted += adjusted;
        let context = request.request.context;
        if let Some(notes) = &mut request.notes {
            let position = notes.without_user.position();
            let anonymous_id = headings.anonymous_id;
            let call = ProfileCall { anonymous_id, ..ProfileCall::default() };
            self.push_into(&mut notes.without_user, headings, call, context);
            notes.without_user(position, adjusted);
        }
    }

    /// Adds a call under its headings.
    fn push(
        &mut self,
        headings: &Headings<'_>,
        call: ProfileCall<'_>,
        request: &mut CallRequest<'_>,
    ) {
        self.push_into(&mut request.profiles, headings, call, request.request.context);
    }

    fn push_into(
        &mut self,
        builder: &mut ProfileBatchBuilder,
        headings: &Headings<'_>,
        call: ProfileCall<'_>,
        context: &Context<'_>,
    ) {
        let sender = context.sender;
        let mut minted = [0; event_ids::TEXT_BYTES];
        let sent = match headings.message_id {
            "" => self.processor.event_ids.mint(&mut minted),
            given => given,
        };
        let timestamp_ms = match headings.moment {
            Moment::Sent(ms) | Moment::Corrected(ms) => ms,
            Moment::Received => context.received_at_ms,
        };
        builder.push(&ProfileCall {
            timestamp_ms,
            is_public: sender.is_public(),
            call_id: sender.event_id(sent, &mut self.profile.call_id),
            user_id: headings.user_id,
            sent_as: named(headings, call.sent_as),
            key_id: context.key_id,
            ..call
        });
    }
}

/// What a call is named in its protocol.
fn sent_as<'a>(call: &Call<'_, 'a>, protocol: Protocol, kind: CallKind) -> &'a str {
    match protocol {
        Protocol::Segment => kind.as_str(),
        Protocol::PostHog => mapping::text_of(&call.event),
    }
}

/// Likewise, where the call is nothing but a change of a profile; else that of the part which is.
fn named<'a>(headings: &Headings<'a>, part: &'a str) -> &'a str {
    if headings.sent_as.is_empty() { part } else { headings.sent_as }
}

/// What traits are read with.
struct Reading<'r, 'c> {
    request: &'r CallRequest<'c>,
    adjusted: &'r mut Adjustments,
    errors: &'r mut Vec<String>,
}

impl Reading<'_, '_> {
    /// Reads traits: the attributes into `attributes`, the addresses apart. None where there are none.
    fn traits<'a>(
        &mut self,
        attributes: &mut Properties,
        sent: &Sent<'_, 'a>,
        name: &str,
    ) -> Option<Addresses<'a>> {
        let rules = self.request.rules;
        let is_public = self.request.request.context.sender.is_public();
        let mut addresses = Addresses::default();
        let nodes = nodes_of(sent);
        for (key, value) in members(nodes) {
            let (slot, fault) = match key {
                "email" => (&mut addresses.email, rules.email_fault),
                "phone" => (&mut addresses.phone, rules.phone_fault),
                _ => continue,
            };
            *slot = self.address(name, key, &field(value), fault);
        }
        let others = members(nodes).filter(|(key, _)| !matches!(*key, "email" | "phone"));
        let made = mapping::attributes(others, is_public, self.adjusted);
        attributes.compose(&made, NO_OPTIONAL);
        self.errors.extend(traits_fault(sent, attributes, name));
        let is_empty = made.is_empty() && addresses.email.is_empty() && addresses.phone.is_empty();
        (!is_empty).then_some(addresses)
    }

    /// An address among traits; empty when it is absent or at fault.
    fn address<'a>(
        &mut self,
        traits: &str,
        key: &str,
        sent: &Field<'a>,
        fault: fn(&str) -> Option<String>,
    ) -> &'a str {
        let name = format!("{traits}.{key}");
        let address = text(&name, sent, ADDRESS_CHARS_MAX, self.errors);
        if let Some(fault) = Some(address).filter(|it| !it.is_empty()).and_then(fault) {
            self.errors.push(format!("{name} {fault}"));
            return "";
        }
        address
    }
}

/// What is wrong with traits: with their type, or with the attributes made of them.
fn traits_fault(sent: &Sent<'_, '_>, attributes: &Properties, name: &str) -> Option<String> {
    // Rules are worded for properties, which the message begins with.
    let renamed = |fault: &str| fault.replacen("properties", name, 1);
    match sent {
        Sent::Refused(reason) => Some(renamed(reason)),
        Sent::Other => Some(format!("{name} must be an object")),
        Sent::Absent | Sent::Object { .. } => attributes.fault().map(renamed),
    }
}

/// What is wrong with the properties of a call of PostHog: ids and traits would be lost with them.
fn properties_fault(call: &Call<'_, '_>, protocol: Protocol) -> Option<String> {
    match (protocol, &call.properties) {
        (Protocol::PostHog, Sent::Refused(reason)) => Some(reason.clone()),
        (Protocol::PostHog, Sent::Other) => Some("properties must be an object".to_owned()),
        _ => None,
    }
}

/// What is wrong with the context of a call that has no traits beside it: they would be lost with it.
fn context_fault(call: &Call<'_, '_>) -> Option<String> {
    let fault = call.context_fault.as_ref().filter(|_| matches!(call.traits, Sent::Absent))?;
    // Rules are worded for properties, which the message begins with.
    Some(fault.replacen("properties", "context", 1))
}

fn object<'t, 'a>(sent: &Sent<'t, 'a>) -> Option<&'t [Node<'a>]> {
    match sent {
        Sent::Object { nodes, .. } => Some(nodes),
        Sent::Absent | Sent::Refused(_) | Sent::Other => None,
    }
}

fn traits_count(call: &Call<'_, '_>) -> u64 {
    (members(nodes_of(&call.traits)).count() + members(nodes_of(&call.once)).count()) as u64
}

fn check_scope(rules: CallRules, errors: &mut Vec<String>) {
    if !rules.may_change_profiles {
        errors.push(NO_SCOPE.to_owned());
    }
}
