//! Validates events against every rule of the specification and encodes the good ones into a
//! durable batch.
//!
//! One pass over the body: an element's fields are collected while they are scanned ([`element`]),
//! its properties are checked, compacted and their numbers taken out on the way ([`properties`]),
//! then the element is judged and, when it is good, encoded at once. Only when the whole body has
//! proved to be acceptable are arrival numbers taken and ids presented to the [`Window`]: a
//! refused request leaves no trace.
//!
//! The key day of an event: its own UTC day when the caller sent `timestamp` (a repeat has the same
//! one); the first of the month when the server stamped an event that has a `clientEventId` (a
//! repeat in that month meets it in the table, and the window carries it over the month's end); the
//! received day when it has neither, and so cannot be repeated.

mod element;
mod event_ids;
mod identifiers;
mod judge;
mod order;
mod properties;
mod repeats;
mod timestamp;

#[cfg(test)]
mod tests;

use uuid::Uuid;

use crate::{
    model::{calendar, limits::EVENTS_PER_REQUEST_MAX},
    parse::{Expected, Kind, Nesting, Scanner, SyntaxError},
    record::{Batch, BatchBuilder, Sequence},
    window::{Claim, Fingerprint, Window},
};

use element::Element;
use event_ids::EventIds;
use judge::Good;
use properties::Properties;
use repeats::RequestIds;

/// What surrounds a request.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Whose credential it came with.
    pub workspace_id: Uuid,
    /// When it was received: milliseconds since the epoch, UTC.
    pub received_at_ms: i64,
    /// Recent ids of server-stamped events of this node.
    pub window: &'a Window,
    /// Arrival numbers of this node.
    pub sequence: &'a Sequence,
}

/// How the events were sent, which decides how they are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One object.
    One,
    /// An array.
    Many,
}

/// The verdict on a body that has the right shape.
#[derive(Debug)]
pub struct Admitted {
    /// How the events were sent.
    pub shape: Shape,
    /// Elements received.
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
    /// Its `eventName` where that is a string, cut after 255 characters.
    pub name: Option<String>,
    /// One message per failed field, the field first, in the order of the specification's table.
    pub errors: Vec<String>,
}

/// A body refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Not JSON; the text says what was expected at which byte.
    #[error("body is not valid JSON: {0}")]
    NotJson(String),
    /// JSON, but neither an object nor an array.
    #[error("body must be an event object or an array of event objects")]
    NotEventOrArray,
    /// An array without elements.
    #[error("body must contain at least 1 event")]
    EmptyArray,
    /// An array with too many elements.
    #[error("body must contain at most {limit} events, received {received}")]
    TooManyElements {
        /// Elements allowed.
        limit: usize,
        /// Elements sent.
        received: usize,
    },
}

impl From<SyntaxError> for BodyError {
    fn from(error: SyntaxError) -> Self {
        Self::NotJson(error.to_string())
    }
}

/// Judges and encodes requests; keeps its buffers from one to the next. One per worker.
#[derive(Debug, Default)]
pub struct Admitter {
    properties: Properties,
    nesting: Nesting,
    request_ids: RequestIds,
    event_ids: EventIds,
    /// Server-stamped events with an id of the caller's: where they are, and their fingerprint.
    unclaimed: Vec<(usize, Fingerprint)>,
}

/// What becomes of one request, while its body is being read.
struct Request<'a, 'c> {
    context: &'c Context<'c>,
    body: &'a str,
    builder: BatchBuilder,
    accepted: usize,
    event_id: Option<String>,
    rejected: Vec<Rejected>,
}

impl Admitter {
    /// Judges a body: one event object, or an array of them.
    pub fn admit(&mut self, body: &[u8], context: &Context<'_>) -> Result<Admitted, BodyError> {
        let body = str::from_utf8(body).map_err(|error| {
            BodyError::NotJson(format!("expected UTF-8 at byte {}", error.valid_up_to()))
        })?;
        self.event_ids.begin_request(context.received_at_ms);
        self.request_ids.clear();
        self.unclaimed.clear();
        let mut request = Request {
            context,
            body,
            // A record is about as long as its JSON, names of fields against lengths; half as much
            // again, untouched and so never resident, is cheaper than to move a batch that grows.
            builder: BatchBuilder::with_capacity(body.len() + body.len() / 2),
            accepted: 0,
            event_id: None,
            rejected: Vec::new(),
        };
        let mut scanner = Scanner::new(body);
        let (shape, processed) = match scanner.kind()? {
            Kind::Object => {
                let event_id = self.element(0, &mut scanner, &mut request)?;
                request.event_id = event_id;
                (Shape::One, 1)
            }
            Kind::Array => (Shape::Many, self.array(&mut scanner, &mut request)?),
            _ => {
                scanner.skip(&mut self.nesting)?;
                scanner.end()?;
                return Err(BodyError::NotEventOrArray);
            }
        };
        scanner.end()?;
        match processed {
            0 => Err(BodyError::EmptyArray),
            received if received > EVENTS_PER_REQUEST_MAX => {
                Err(BodyError::TooManyElements { limit: EVENTS_PER_REQUEST_MAX, received })
            }
            _ => Ok(self.conclude(shape, processed, request)),
        }
    }

    /// Reads an array; gives the number of its elements. Those past the limit are only counted.
    fn array<'a>(
        &mut self,
        scanner: &mut Scanner<'a>,
        request: &mut Request<'a, '_>,
    ) -> Result<usize, SyntaxError> {
        scanner.advance();
        if scanner.step_over(b']') {
            return Ok(0);
        }
        let mut count = 0;
        loop {
            if count < EVENTS_PER_REQUEST_MAX {
                self.element(count, scanner, request)?;
            } else {
                scanner.skip(&mut self.nesting)?;
            }
            count += 1;
            if scanner.step_over(b',') {
                continue;
            }
            if scanner.step_over(b']') {
                return Ok(count);
            }
            return Err(scanner.error(Expected::CommaOrBracket));
        }
    }

    /// Reads, judges and encodes one element; gives the id it is stored under, for a single event.
    fn element<'a>(
        &mut self,
        index: usize,
        scanner: &mut Scanner<'a>,
        request: &mut Request<'a, '_>,
    ) -> Result<Option<String>, SyntaxError> {
        if scanner.kind()? != Kind::Object {
            scanner.skip(&mut self.nesting)?;
            let errors = vec!["event must be an object".to_owned()];
            request.rejected.push(Rejected { index, name: None, errors });
            return Ok(None);
        }
        let mut element = Element::default();
        element.read(scanner, &mut self.properties, &mut self.nesting)?;
        match judge::judge(&element, &self.properties, request.context.received_at_ms) {
            Ok(good) => {
                request.accepted += 1;
                Ok(self.encode(&good, request))
            }
            Err(errors) => {
                request.rejected.push(Rejected { index, name: element.shown_name(), errors });
                Ok(None)
            }
        }
    }

    /// Adds a good event to the batch, unless this request held its id before.
    fn encode(&mut self, good: &Good<'_>, request: &mut Request<'_, '_>) -> Option<String> {
        let mut minted = [0; event_ids::TEXT_BYTES];
        let event_id = match good.client_event_id.as_ref() {
            "" => self.event_ids.mint(&mut minted),
            given if !self.request_ids.insert(given) => return Some(given.to_owned()),
            given => given,
        };
        let received_day = calendar::day_of(request.context.received_at_ms);
        let (timestamp_ms, day) = match good.timestamp_ms {
            Some(sent) => (sent, calendar::day_of(sent)),
            None if good.client_event_id.is_empty() => {
                (request.context.received_at_ms, received_day)
            }
            None => {
                let Context { workspace_id, window, .. } = *request.context;
                let fingerprint = window.fingerprint(workspace_id, event_id);
                self.unclaimed.push((request.builder.position(), fingerprint));
                (request.context.received_at_ms, calendar::first_of_month(received_day))
            }
        };
        let properties = self.properties.text(request.body);
        let order = order::Lifted::from(&good.event_name, properties);
        let mut view = good.view(event_id, properties, self.properties.numbers());
        view.timestamp_ms = timestamp_ms;
        view.day = day;
        view.order = order.as_ref().map(order::Lifted::view);
        request.builder.push(&view);
        (request.accepted == 1).then(|| event_id.to_owned())
    }

    /// Presents the ids to the window and takes arrival numbers.
    fn conclude(&self, shape: Shape, processed: usize, mut request: Request<'_, '_>) -> Admitted {
        let context = request.context;
        let mut claims = Vec::with_capacity(self.unclaimed.len());
        let mut stored_already = Vec::new();
        for (position, fingerprint) in self.unclaimed.iter().copied() {
            match context.window.claim(fingerprint, context.received_at_ms) {
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
