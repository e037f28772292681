//! Validates events against every rule of the specification and encodes the good ones into a
//! durable batch.
//!
//! One walk over the body's tape ([`parse`](crate::parse)): an element's fields are collected
//! ([`element`]), its properties are checked, their text copied and their numbers extracted in one pass
//! ([`properties`]), then the element is validated ([`validate`]) and, when valid, encoded at once. A body that
//! simd-json refuses is split, so that one bad element does not spoil its neighbours ([`recover`]). Only when the whole body has proved to be acceptable are arrival numbers taken and ids
//! presented to the [`Window`]: a refused request leaves no trace.
//!
//! Event SDKs speak protocols of their own: [`calls`] reads their requests into the same records.
//!
//! The key day of an event: its own UTC day when the caller sent `timestamp` (a repeat has the same
//! one); the first of the month when the server stamped an event that has a `clientEventId`, or corrected its time
//! by more than [`calls`] allows for (a repeat in that month meets it in the table, and the window carries it over
//! the month's end); the received day when it has neither, and so cannot be repeated.

pub mod calls;
mod element;
mod event_ids;
mod identifiers;
mod order;
mod properties;
mod recover;
mod repeats;
mod sender;
mod timestamp;
mod validate;

#[cfg(test)]
mod tests;

use simd_json::Node;
use uuid::Uuid;

use crate::{
    model::{calendar, limits::EVENTS_PER_REQUEST_MAX},
    parse::{NESTING_MAX, Parser, Source, TAPE_BYTES_MAX, elements, members, pieces},
    record::{Batch, BatchBuilder, Sequence},
    window::{Claim, EventKey, Fingerprint, Window},
};

use calls::ProfileParts;
use element::Element;
use event_ids::EventIds;
use properties::Properties;
use recover::RecoveredElement;
use repeats::RequestIds;
use validate::{Moment, ValidEvent};

pub use sender::{APP_EVENT_ID_PREFIX, Sender};

/// What surrounds a request.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Whose credential it came with.
    pub workspace_id: Uuid,
    /// The public id of that credential.
    pub key_id: &'a str,
    /// When it was received: milliseconds since the epoch, UTC.
    pub received_at_ms: i64,
    /// Recent ids of server-stamped events of this node.
    pub window: &'a Window,
    /// Arrival numbers of this node.
    pub sequence: &'a Sequence,
    /// Whose key it came with, which decides what the events may set off.
    pub sender: Sender<'a>,
    /// Whether someone listens, who is shown what is changed about [`calls`].
    pub is_watched: bool,
}

/// How the events were sent, which decides how they are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The body was one event object.
    One,
    /// The body was an array of events.
    Many,
}

/// The verdict on a body that has the right shape.
#[derive(Debug)]
pub struct Admitted {
    /// How the events were sent.
    pub shape: Shape,
    /// Elements of the body, accepted or rejected.
    pub processed: usize,
    /// Elements accepted, repeats of known events included.
    pub accepted: usize,
    /// The stored id of a single accepted event; none for arrays.
    pub event_id: Option<String>,
    /// The elements refused, in order.
    pub rejected: Vec<Rejected>,
    /// What must become durable before the request is answered; none when nothing new was accepted.
    pub batch: Option<Batch>,
    /// Ids to give to [`Window::confirm`] once the batch is durable.
    pub claims: Vec<Fingerprint>,
}

/// An element that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Zero-based position in the array; 0 for a single event.
    pub index: usize,
    /// Where its text begins in the body; none where that is not known.
    pub begin: Option<usize>,
    /// Its `eventName` where that is a string, cut after 255 characters.
    pub name: Option<String>,
    /// Its `userId`, where that is a string, cut likewise.
    pub user_id: Option<String>,
    /// Its `clientEventId`, where that is a string, cut likewise.
    pub event_id: Option<String>,
    /// One message per failed field, the field first, in the order of the specification's table.
    pub errors: Vec<String>,
}

/// A body refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Not JSON; the text says what was expected and where.
    #[error("body is not valid JSON: {0}")]
    NotJson(String),
    /// JSON, but neither an object nor an array.
    #[error("body must be an event object or an array of event objects")]
    NotEventOrArray,
    /// An array without elements.
    #[error("body must contain at least 1 event")]
    EmptyArray,
    /// Of an event SDK: neither an event nor a batch.
    #[error("body must contain an event or a batch of events")]
    NoCall,
    /// Of an event SDK: a batch of another JSON type.
    #[error("batch must be an array")]
    BatchNotArray,
    /// An array with too many elements.
    #[error("body must contain at most {limit} events, received {received}")]
    TooManyElements {
        /// Most elements an array may have.
        limit: usize,
        /// Elements the array had.
        received: usize,
    },
}

impl BodyError {
    fn not_json(error: &impl ToString) -> Self {
        Self::NotJson(error.to_string())
    }
}

/// Validates and encodes requests; reuses its buffers. One per worker.
#[derive(Debug)]
pub struct Admitter {
    parser: Parser,
    /// For recovered elements: a piece that nests as deep as it may stands in one more container.
    recovery_parser: Parser,
    processor: ElementProcessor,
    /// Of calls: what they say of a profile.
    profile: ProfileParts,
}

impl Default for Admitter {
    fn default() -> Self {
        Self {
            parser: Parser::default(),
            recovery_parser: Parser::with_nesting(NESTING_MAX + 1),
            processor: ElementProcessor::default(),
            profile: ProfileParts::default(),
        }
    }
}

/// Validates and encodes elements, one after the other.
#[derive(Debug, Default)]
struct ElementProcessor {
    properties: Properties,
    request_ids: RequestIds,
    event_ids: EventIds,
    /// The id of the event of an app that is being encoded, its prefix included.
    app_event_id: String,
    /// Server-stamped events with a `clientEventId`.
    unclaimed: Vec<Unclaimed>,
}

/// An event whose id is presented to the window.
#[derive(Debug, Clone, Copy)]
struct Unclaimed {
    /// Of its record in the batch.
    position: usize,
    fingerprint: Fingerprint,
    /// The time of its record.
    timestamp_ms: i64,
}

/// A part of a body and its index in the array; 0 for a single event.
#[derive(Clone, Copy)]
struct Indexed<T> {
    index: usize,
    value: T,
}

/// What becomes of one request, while its body is being read.
struct Request<'c> {
    context: &'c Context<'c>,
    /// Where the element begins that is being read, once its body is taken apart.
    piece_begin: Option<usize>,
    builder: BatchBuilder,
    accepted: usize,
    event_id: Option<String>,
    rejected: Vec<Rejected>,
}

impl<'c> Request<'c> {
    /// A request with a body of that many bytes.
    fn new(body_bytes: usize, context: &'c Context<'c>) -> Self {
        Self {
            context,
            piece_begin: None,
            // A record is about as long as its JSON, names of fields against lengths; half as much
            // again, untouched and so never resident, is cheaper than to move a batch that grows.
            builder: BatchBuilder::with_capacity(body_bytes + body_bytes / 2),
            accepted: 0,
            event_id: None,
            rejected: Vec::new(),
        }
    }

    /// Refuses an element of which no field can be read.
    fn reject_unread(&mut self, index: usize, error: &str) {
        self.rejected.push(Rejected {
            index,
            begin: self.piece_begin,
            name: None,
            user_id: None,
            event_id: None,
            errors: vec![error.to_owned()],
        });
    }

    fn reject_as_no_object(&mut self, index: usize) {
        self.reject_unread(index, "event must be an object");
    }
}

impl Admitter {
    /// Validates a body: one event object, or an array of them.
    ///
    /// # Errors
    /// When the body is not JSON, or neither an object nor an array of 1 to
    /// [`EVENTS_PER_REQUEST_MAX`] elements.
    pub fn admit(&mut self, body: &[u8], context: &Context<'_>) -> Result<Admitted, BodyError> {
        let Self { parser, processor, .. } = self;
        processor.begin(context.received_at_ms);
        let mut request = Request::new(body.len(), context);
        let whole = (body.len() <= TAPE_BYTES_MAX)
            .then(|| {
                parser.parse_in(body, |nodes, source| processor.body(nodes, source, &mut request))
            })
            .flatten();
        let (shape, processed) = match whole {
            Some(read) => read?,
            None => self.in_pieces(body, &mut request)?,
        };
        match processed {
            0 => Err(BodyError::EmptyArray),
            received if received > EVENTS_PER_REQUEST_MAX => {
                Err(BodyError::TooManyElements { limit: EVENTS_PER_REQUEST_MAX, received })
            }
            _ => Ok(self.processor.conclude(shape, processed, request)),
        }
    }

    /// Reads a body that is too long for one tape, or that simd-json refuses; gives its shape and
    /// the number of its elements.
    #[cold]
    fn in_pieces(
        &mut self,
        body: &[u8],
        request: &mut Request<'_>,
    ) -> Result<(Shape, usize), BodyError> {
        let text = str::from_utf8(body).map_err(|error| {
            BodyError::NotJson(format!("expected UTF-8 at byte {}", error.valid_up_to()))
        })?;
        if text.trim_ascii_start().starts_with('[') {
            let mut count = 0;
            pieces::elements(text, |element| {
                // Those past the limit are only counted.
                if count < EVENTS_PER_REQUEST_MAX {
                    request.piece_begin = offset_in(body, element);
                    self.piece(count, element, request);
                }
                count += 1;
            })
            .map_err(|error| BodyError::not_json(&error))?;
            return Ok((Shape::Many, count));
        }
        let value = pieces::value(text).map_err(|error| BodyError::not_json(&error))?;
        if !value.starts_with('{') {
            return Err(BodyError::NotEventOrArray);
        }
        request.piece_begin = offset_in(body, value);
        request.event_id = self.piece(0, value, request);
        Ok((Shape::One, 1))
    }

    /// Reads the text of one element.
    fn piece(&mut self, index: usize, text: &str, request: &mut Request<'_>) -> Option<String> {
        let Self { parser, recovery_parser, processor, .. } = self;
        if !text.starts_with('{') {
            request.reject_as_no_object(index);
            return None;
        }
        let whole = (text.len() <= TAPE_BYTES_MAX)
            .then(|| {
                parser.parse_in(text.as_bytes(), |nodes, source| {
                    processor.element(Indexed { index, value: nodes }, source, request)
                })
            })
            .flatten();
        if let Some(event_id) = whole {
            return event_id;
        }
        let recovered = RecoveredElement::from(text, parser);
        let admitted = recovery_parser.parse_in(recovered.text().as_bytes(), |nodes, source| {
            let mut element = Element::default();
            element.read(nodes);
            recovered.mark(&mut element);
            processor.validate(Indexed { index, value: &element }, source, request)
        });
        admitted.unwrap_or_else(|| {
            request.reject_unread(index, "event cannot be read");
            None
        })
    }
}

/// Where a part of a body begins.
fn offset_in(body: &[u8], part: &str) -> Option<usize> {
    part.as_ptr().addr().checked_sub(body.as_ptr().addr()).filter(|at| *at < body.len())
}

impl ElementProcessor {
    fn begin(&mut self, received_at_ms: i64) {
        self.event_ids.begin_request(received_at_ms);
        self.request_ids.clear();
        self.unclaimed.clear();
    }

    /// Reads a body; gives its shape and the number of its elements.
    fn body(
        &mut self,
        nodes: &[Node<'_>],
        source: Source<'_>,
        request: &mut Request<'_>,
    ) -> Result<(Shape, usize), BodyError> {
        match nodes.first() {
            Some(Node::Object { .. }) => {
                request.event_id =
                    self.element(Indexed { index: 0, value: nodes }, source, request);
                Ok((Shape::One, 1))
            }
            Some(Node::Array { len, .. }) => {
                if *len <= EVENTS_PER_REQUEST_MAX {
                    for (index, value) in elements(nodes).enumerate() {
                        self.element(Indexed { index, value }, source, request);
                    }
                }
                Ok((Shape::Many, *len))
            }
            _ => Err(BodyError::NotEventOrArray),
        }
    }

    /// Reads one element; gives the id it is stored under, for a single event.
    fn element(
        &mut self,
        Indexed { index, value: nodes }: Indexed<&[Node<'_>]>,
        source: Source<'_>,
        request: &mut Request<'_>,
    ) -> Option<String> {
        if !matches!(nodes.first(), Some(Node::Object { .. })) {
            request.reject_as_no_object(index);
            return None;
        }
        let mut element = Element::default();
        element.read(nodes);
        self.validate(Indexed { index, value: &element }, source, request)
    }

    /// Validates and encodes an element; gives the id it is stored under, for a single event.
    fn validate(
        &mut self,
        Indexed { index, value: element }: Indexed<&Element<'_, '_>>,
        source: Source<'_>,
        request: &mut Request<'_>,
    ) -> Option<String> {
        self.properties.take(&element.properties, source);
        match validate::validate(element, &self.properties, request.context) {
            Ok(valid) => {
                request.accepted += 1;
                self.encode(&valid, members(element.property_nodes()), request)
            }
            Err(errors) => {
                let first_key = element.first_key.and_then(|key| source.object_before(key));
                request.rejected.push(Rejected {
                    index,
                    begin: request.piece_begin.or(first_key),
                    name: element.event_name.shown(),
                    user_id: element.user_id.shown(),
                    event_id: element.client_event_id.shown(),
                    errors,
                });
                None
            }
        }
    }

    /// Adds a valid event to the batch, unless this request held its id before.
    fn encode<'m, 'a: 'm>(
        &mut self,
        valid: &ValidEvent<'_>,
        properties: impl Iterator<Item = (&'m str, &'m [Node<'a>])>,
        request: &mut Request<'_>,
    ) -> Option<String> {
        let sender = request.context.sender;
        let mut minted = [0; event_ids::TEXT_BYTES];
        let Context { workspace_id, received_at_ms, window, .. } = *request.context;
        let is_minted = valid.client_event_id.is_empty();
        let timestamp_ms = match valid.moment {
            Moment::Sent(ms) | Moment::Corrected(ms) => ms,
            Moment::Received => received_at_ms,
        };
        let own_day = calendar::day_of(timestamp_ms);
        // A repeat may come under another time.
        let is_windowed = !is_minted && !matches!(valid.moment, Moment::Sent(_));
        let day = if is_windowed { calendar::first_of_month(own_day) } else { own_day };
        let (event_id, is_repeat) = if is_minted {
            (self.event_ids.mint(&mut minted), false)
        } else {
            let given = valid.client_event_id;
            (given, !self.request_ids.insert(valid.event_name, day, given))
        };
        let event_id = sender.event_id(event_id, &mut self.app_event_id);
        if is_repeat {
            return Some(event_id.to_owned());
        }
        if is_windowed {
            let key = EventKey { workspace_id, event_name: valid.event_name, event_id };
            let position = request.builder.position();
            let fingerprint = window.fingerprint(key);
            self.unclaimed.push(Unclaimed { position, fingerprint, timestamp_ms });
        }
        let is_trusted = sender.trusts(valid.event_name);
        let order = is_trusted.then(|| order::Lifted::from(valid.event_name, properties)).flatten();
        let mut view = valid.view(event_id, self.properties.text(), self.properties.numbers());
        view.timestamp_ms = timestamp_ms;
        view.day = day;
        view.order = order.as_ref().map(order::Lifted::view);
        view.is_untrusted = !is_trusted;
        request.builder.push(&view);
        (request.accepted == 1).then(|| event_id.to_owned())
    }

    /// Presents the ids to the window and takes arrival numbers.
    fn conclude(&self, shape: Shape, processed: usize, mut request: Request<'_>) -> Admitted {
        let context = request.context;
        let mut claims = Vec::with_capacity(self.unclaimed.len());
        let mut stored_already = Vec::new();
        for Unclaimed { position, fingerprint, timestamp_ms } in self.unclaimed.iter().copied() {
            match context.window.claim(fingerprint, timestamp_ms) {
                Claim::First => claims.push(fingerprint),
                Claim::Pending { first_ms } => {
                    let day = calendar::first_of_month(calendar::day_of(first_ms));
                    request.builder.set_time(position, first_ms, day);
                    claims.push(fingerprint);
                }
                Claim::Durable { .. } => stored_already.push(position),
            }
        }
        if !stored_already.is_empty() {
            request.builder.remove(&stored_already);
        }
        let first_seq = match request.builder.count() {
            0 => 0,
            count => context.sequence.reserve(count, context.received_at_ms),
        };
        Admitted {
            shape,
            processed,
            accepted: request.accepted,
            event_id: request.event_id,
            rejected: request.rejected,
            batch: request.builder.finish(context.workspace_id, context.received_at_ms, first_seq),
            claims,
        }
    }
}
