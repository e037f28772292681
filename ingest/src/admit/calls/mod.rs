//! Calls of event SDKs: requests in the protocols of Segment, RudderStack and PostHog, read into the same records as
//! tracked events.
//!
//! [`call`] collects the fields of a call, [`mapping`] says what it becomes, [`moment`] corrects its time, [`profile`]
//! reads what it says of a person. The parser, the limits of [`properties`](super::properties) and the encoding are those
//! of tracked events; only names, and how a batch is laid out, differ. A call that breaks a rule is rejected alone.

mod adjusted;
mod call;
mod event;
mod mapping;
mod moment;
mod profile;
mod recover;
mod write_key;

#[cfg(test)]
mod tests;

use simd_json::Node;

use crate::{
    parse::{Source, TAPE_BYTES_MAX, elements, members, pieces},
    record::{Batch, ProfileBatchBuilder},
    window::Fingerprint,
};

use super::{
    Admitted, Admitter, BodyError, Context, ElementProcessor, Rejected, Request, Shape,
    element::{Field, field},
    offset_in,
    properties::Properties,
    recover::known_name,
};
use adjusted::CallNotes;
use call::{Call, FieldNames, POSTHOG, SEGMENT};
use mapping::Meaning;
use recover::RecoveredCall;

pub use adjusted::{AdjustedCalls, Adjustments, LiveNotes};
pub use write_key::write_key;

/// Rejected calls of one request that are named; the others are counted.
const REJECTED_NAMED_MAX: usize = 500;
/// The member of a request that holds its calls.
const BATCH: &str = "batch";

/// The protocol of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Segment's HTTP API, which RudderStack took over.
    Segment,
    /// PostHog's API for capturing events.
    PostHog,
}

impl Protocol {
    const fn names(self) -> &'static FieldNames {
        match self {
            Self::Segment => &SEGMENT,
            Self::PostHog => &POSTHOG,
        }
    }

    const fn sent_at(self) -> &'static str {
        match self {
            Self::Segment => "sentAt",
            Self::PostHog => "sent_at",
        }
    }
}

/// The types of calls of Segment's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say all")]
pub enum CallKind {
    Track,
    Page,
    Screen,
    Identify,
    Group,
    Alias,
}

impl CallKind {
    /// All types of calls.
    pub const ALL: [Self; 6] =
        [Self::Track, Self::Page, Self::Screen, Self::Identify, Self::Group, Self::Alias];

    /// Its name in the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Track => "track",
            Self::Page => "page",
            Self::Screen => "screen",
            Self::Identify => "identify",
            Self::Group => "group",
            Self::Alias => "alias",
        }
    }
}

/// How the calls of a request are read.
#[derive(Debug, Clone, Copy)]
pub struct CallRules {
    /// The protocol of the route.
    pub protocol: Protocol,
    /// The type of each call, where the route says it; else calls say it.
    pub kind: Option<CallKind>,
    /// Whether the key may change profiles.
    pub may_change_profiles: bool,
    /// What is wrong with an email address.
    pub email_fault: fn(&str) -> Option<String>,
    /// What is wrong with a phone number.
    pub phone_fault: fn(&str) -> Option<String>,
}

/// The verdict on a request of calls.
#[derive(Debug)]
pub struct AdmittedCalls {
    /// Calls of the request, accepted or rejected.
    pub processed: usize,
    /// Calls accepted, repeats of known ones included.
    pub accepted: usize,
    /// The first of the rejected calls, in order.
    pub rejected: Vec<Rejected>,
    /// How many were rejected.
    pub rejected_count: usize,
    /// What was changed about the accepted ones.
    pub adjusted: Adjustments,
    /// What listeners are shown of them; none without a listener.
    pub notes: Option<LiveNotes>,
    /// The events; none when there is no new one.
    pub events: Option<Batch>,
    /// What the calls say of profiles; none when they say nothing.
    pub profiles: Option<Batch>,
    /// Ids to give to [`Window::confirm`](crate::window::Window::confirm) once the events are durable.
    pub claims: Vec<Fingerprint>,
}

/// Buffers for what a call says of a profile.
#[derive(Debug, Default)]
pub(super) struct ProfileParts {
    attributes: Properties,
    once: Properties,
    /// The id of the call that is being encoded, its prefix included.
    call_id: String,
}

/// What becomes of one request of calls, while its body is being read.
struct CallRequest<'c> {
    rules: CallRules,
    /// The events among them.
    request: Request<'c>,
    profiles: ProfileBatchBuilder,
    processed: usize,
    adjusted: Adjustments,
    notes: Option<CallNotes>,
    rejected: Vec<Rejected>,
    rejected_count: usize,
}

impl CallRequest<'_> {
    /// Counts what was changed about the event at this position.
    fn adjust_event(&mut self, position: usize, adjusted: Adjustments) {
        self.adjusted += adjusted;
        if let Some(notes) = &mut self.notes {
            notes.event(&self.request.builder, position, adjusted);
        }
    }

    /// Likewise about the change of a profile at this position.
    fn adjust_profile_call(&mut self, position: usize, adjusted: Adjustments) {
        self.adjusted += adjusted;
        if let Some(notes) = &mut self.notes {
            notes.profile_call(&self.profiles, position, adjusted);
        }
    }

    fn reject(&mut self, place: CallPlace<'_>, call: &Call<'_, '_>, errors: Vec<String>) {
        self.rejected_count += 1;
        if self.rejected.len() == REJECTED_NAMED_MAX {
            return;
        }
        self.rejected.push(Rejected {
            index: place.index,
            begin: place.begin,
            name: call.event.shown().or_else(|| call.kind.shown()),
            user_id: call.user_id.shown().or_else(|| call.anonymous_id.shown()),
            event_id: call.message_id.shown(),
            errors,
        });
    }

    fn reject_unread(&mut self, place: CallPlace<'_>, error: &str) {
        self.reject(place, &Call::default(), vec![error.to_owned()]);
    }
}

/// A call's place in its request.
#[derive(Debug, Clone, Copy)]
struct CallPlace<'a> {
    index: usize,
    /// Where its text begins in the body, where that is known.
    begin: Option<usize>,
    /// `sentAt` of the batch.
    sent_at: Field<'a>,
}

/// Reads calls, one after the other.
struct CallReader<'p> {
    processor: &'p mut ElementProcessor,
    profile: &'p mut ProfileParts,
}

impl Admitter {
    /// Validates a request of an event SDK: one call, or an object with a batch of them.
    ///
    /// # Errors
    /// When the body is not JSON, or holds neither a call nor a batch with at least one element.
    pub fn admit_calls(
        &mut self,
        body: &[u8],
        rules: CallRules,
        context: &Context<'_>,
    ) -> Result<AdmittedCalls, BodyError> {
        let Self { parser, processor, profile, .. } = self;
        processor.begin(context.received_at_ms);
        let mut request = CallRequest {
            rules,
            request: Request::new(body.len(), context),
            profiles: ProfileBatchBuilder::default(),
            processed: 0,
            adjusted: Adjustments::default(),
            notes: context.is_watched.then(CallNotes::default),
            rejected: Vec::new(),
            rejected_count: 0,
        };
        let mut reader = CallReader { processor, profile };
        let whole = (body.len() <= TAPE_BYTES_MAX)
            .then(|| {
                parser.parse_in(body, |nodes, source| reader.body(nodes, source, &mut request))
            })
            .flatten();
        match whole {
            Some(read) => read?,
            None => self.calls_in_pieces(body, &mut request)?,
        }
        if request.processed == 0 {
            return Err(BodyError::EmptyArray);
        }
        Ok(self.conclude_calls(request))
    }

    fn conclude_calls(&self, request: CallRequest<'_>) -> AdmittedCalls {
        let CallRequest {
            request,
            profiles,
            processed,
            adjusted,
            notes,
            rejected,
            rejected_count,
            ..
        } = request;
        let Context { workspace_id, received_at_ms, sequence, .. } = *request.context;
        let Admitted { accepted, batch, claims, .. } =
            self.processor.conclude(Shape::Many, processed, request);
        let first_seq = match profiles.count() {
            0 => 0,
            count => sequence.reserve(count, received_at_ms),
        };
        AdmittedCalls {
            processed,
            accepted,
            rejected,
            rejected_count,
            adjusted,
            notes: notes.map(|notes| notes.finish(workspace_id, received_at_ms)),
            events: batch,
            profiles: profiles.finish(workspace_id, received_at_ms, first_seq),
            claims,
        }
    }

    /// Reads a body that is too long for one tape, or that simd-json refuses.
    #[cold]
    fn calls_in_pieces(
        &mut self,
        body: &[u8],
        request: &mut CallRequest<'_>,
    ) -> Result<(), BodyError> {
        let text = str::from_utf8(body).map_err(|error| {
            BodyError::NotJson(format!("expected UTF-8 at byte {}", error.valid_up_to()))
        })?;
        let value = pieces::value(text).map_err(|error| BodyError::not_json(&error))?;
        let protocol = request.rules.protocol;
        if value.starts_with('[') && protocol == Protocol::PostHog {
            return self.batch_in_pieces(body, value, Field::Absent, request);
        }
        if !value.starts_with('{') {
            return Err(BodyError::NoCall);
        }
        let (mut batch, mut sent_at) = (None, Field::Absent);
        pieces::members(value, |key, text| {
            match known_name(key, &[BATCH, protocol.sent_at()], &mut self.parser) {
                Some(BATCH) => batch = Some(text),
                Some(_) => sent_at = plain_time(text),
                None => {}
            }
        })
        .map_err(|error| BodyError::not_json(&error))?;
        match batch {
            None | Some("null") => {
                let place =
                    CallPlace { index: 0, begin: offset_in(body, value), sent_at: Field::Absent };
                let is_call = self.call_in_pieces(value, place, request);
                if is_call { Ok(()) } else { Err(BodyError::NoCall) }
            }
            Some(batch) if batch.starts_with('[') => {
                self.batch_in_pieces(body, batch, sent_at, request)
            }
            Some(_) => Err(BodyError::BatchNotArray),
        }
    }

    fn batch_in_pieces(
        &mut self,
        body: &[u8],
        batch: &str,
        sent_at: Field<'_>,
        request: &mut CallRequest<'_>,
    ) -> Result<(), BodyError> {
        let mut index = 0;
        pieces::elements(batch, |text| {
            let place = CallPlace { index, begin: offset_in(body, text), sent_at };
            self.call_in_pieces(text, place, request);
            index += 1;
        })
        .map_err(|error| BodyError::not_json(&error))
    }

    /// Reads the text of one call; gives whether it has a field of one.
    fn call_in_pieces(
        &mut self,
        text: &str,
        place: CallPlace<'_>,
        request: &mut CallRequest<'_>,
    ) -> bool {
        let Self { parser, recovery_parser, processor, profile } = self;
        request.processed += 1;
        if !text.starts_with('{') {
            request.reject_unread(place, NOT_AN_OBJECT);
            return true;
        }
        let mut reader = CallReader { processor, profile };
        let whole = (text.len() <= TAPE_BYTES_MAX)
            .then(|| parser.parse(text.as_bytes(), |nodes| reader.call(nodes, place, request)))
            .flatten();
        if let Some(is_call) = whole {
            return is_call;
        }
        let recovered = RecoveredCall::from(text, request.rules.protocol.names(), parser);
        let read = recovery_parser.parse(recovered.text().as_bytes(), |nodes| {
            let mut call = Call::default();
            call.read(nodes, request.rules.protocol);
            recovered.mark(&mut call);
            reader.take(call, place, request)
        });
        read.unwrap_or_else(|| {
            request.reject_unread(place, "event cannot be read");
            true
        })
    }
}

/// The time in a text of JSON: a string without escapes, or a number.
fn plain_time(text: &str) -> Field<'_> {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) => Field::Text(text),
        None => text.parse().map_or(Field::Absent, Field::Number),
    }
}

/// What is wrong with an element of a batch that is no object.
const NOT_AN_OBJECT: &str = "event must be an object";

impl CallReader<'_> {
    /// Reads a whole body.
    fn body(
        &mut self,
        nodes: &[Node<'_>],
        source: Source<'_>,
        request: &mut CallRequest<'_>,
    ) -> Result<(), BodyError> {
        match nodes.first() {
            Some(Node::Object { .. }) => {}
            Some(Node::Array { .. }) if request.rules.protocol == Protocol::PostHog => {
                self.batch(nodes, source, Field::Absent, request);
                return Ok(());
            }
            _ => return Err(BodyError::NoCall),
        }
        let (mut batch, mut sent_at) = (None, Field::Absent);
        for (key, value) in members(nodes) {
            if key == BATCH {
                batch = Some(value);
            } else if key == request.rules.protocol.sent_at() {
                sent_at = field(value);
            }
        }
        match batch.and_then(|batch| Some((batch, batch.first()?))) {
            None | Some((_, Node::Static(simd_json::StaticNode::Null))) => {
                request.processed = 1;
                let place =
                    CallPlace { index: 0, begin: begin(nodes, source), sent_at: Field::Absent };
                if self.call(nodes, place, request) { Ok(()) } else { Err(BodyError::NoCall) }
            }
            Some((batch, Node::Array { .. })) => {
                self.batch(batch, source, sent_at, request);
                Ok(())
            }
            Some(_) => Err(BodyError::BatchNotArray),
        }
    }

    fn batch(
        &mut self,
        batch: &[Node<'_>],
        source: Source<'_>,
        sent_at: Field<'_>,
        request: &mut CallRequest<'_>,
    ) {
        for (index, nodes) in elements(batch).enumerate() {
            request.processed += 1;
            let place = CallPlace { index, begin: begin(nodes, source), sent_at };
            if matches!(nodes.first(), Some(Node::Object { .. })) {
                self.call(nodes, place, request);
            } else {
                request.reject_unread(place, NOT_AN_OBJECT);
            }
        }
    }

    /// Reads one call; gives whether it has a field of one.
    fn call(
        &mut self,
        nodes: &[Node<'_>],
        place: CallPlace<'_>,
        request: &mut CallRequest<'_>,
    ) -> bool {
        let mut call = Call::default();
        call.read(nodes, request.rules.protocol);
        self.take(call, place, request)
    }

    /// Validates a call and encodes what it becomes; gives whether it has a field of one.
    fn take(
        &mut self,
        call: Call<'_, '_>,
        place: CallPlace<'_>,
        request: &mut CallRequest<'_>,
    ) -> bool {
        let CallRules { protocol, kind, .. } = request.rules;
        let texts = call.number_texts();
        let mut call = call.with_texts(&texts);
        let taken = match mapping::meaning(&call, protocol, kind) {
            Ok(Meaning::Event(name)) => self.event(&call, &name, place, request),
            Ok(Meaning::Identify) => {
                call.take_traits_of_context();
                self.identify(&call, place, request)
            }
            Ok(Meaning::Group) => self.group(&call, place, request),
            Ok(Meaning::Alias) => self.alias(&call, place, request),
            Err(error) => Err(vec![error]),
        };
        match taken {
            Ok(()) => request.request.accepted += 1,
            Err(errors) => request.reject(place, &call, errors),
        }
        call.has_fields
    }
}

/// Where an object begins that has a key.
fn begin(nodes: &[Node<'_>], source: Source<'_>) -> Option<usize> {
    match nodes {
        [Node::Object { .. }, Node::String(key), ..] => source.object_before(key),
        _ => None,
    }
}
