//! The refused elements of a body that was admitted.

use std::collections::HashMap;

use super::{EventSource, RejectedEvent, RejectedEvents};
use crate::{admit::Rejected, parse::pieces, profile_limit::BeyondLimit};

/// Calls of one request beyond a limit that are listed, as of others that are refused.
const BEYOND_NAMED_MAX: usize = 500;

impl RejectedEvents {
    /// [`RejectedEvents::report`] of elements of this body.
    #[cold]
    pub(crate) fn report_elements(
        &self,
        source: EventSource<'_>,
        at_ms: i64,
        body: &[u8],
        rejected: &[Rejected],
    ) {
        let begins = begins_of_others(body, rejected);
        let begin = |one: &Rejected| one.begin.or_else(|| begins.get(&one.index).copied());
        let events: Vec<RejectedEvent<'_>> =
            rejected.iter().map(|one| event(one, body, begin(one))).collect();
        self.report(source, at_ms, &events);
    }

    /// [`RejectedEvents::report`] of calls in this body, `in_all` with those that are not named. The text of one without
    /// a key is not kept.
    #[cold]
    pub(crate) fn report_calls(
        &self,
        source: EventSource<'_>,
        at_ms: i64,
        body: &[u8],
        rejected: RejectedCalls<'_>,
    ) {
        let RejectedCalls { named, in_all } = rejected;
        let events: Vec<RejectedEvent<'_>> =
            named.iter().map(|one| event(one, body, one.begin)).collect();
        self.report_some(source, at_ms, &events, in_all);
    }
}

impl RejectedEvents {
    /// [`RejectedEvents::report`] of calls beyond the limit of what is changed about profiles.
    #[cold]
    pub(crate) fn report_beyond(&self, source: EventSource<'_>, at_ms: i64, beyond: &BeyondLimit) {
        let named = beyond.calls.profile_calls().take(BEYOND_NAMED_MAX);
        let events: Vec<RejectedEvent<'_>> = named
            .map(|call| RejectedEvent {
                name: Some(call.name()),
                user_id: Some(call.user_id),
                event_id: Some(call.call_id),
                reason: beyond.reason.as_str().into(),
                body: call.attributes.as_bytes(),
            })
            .collect();
        self.report_some(source, at_ms, &events, beyond.count());
    }
}

/// The refused calls of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RejectedCalls<'r> {
    /// The first of them.
    pub(crate) named: &'r [Rejected],
    /// How many there are.
    pub(crate) in_all: usize,
}

/// A refused element whose text begins there in the body.
fn event<'r>(rejected: &'r Rejected, body: &'r [u8], begin: Option<usize>) -> RejectedEvent<'r> {
    RejectedEvent {
        name: rejected.name.as_deref(),
        user_id: rejected.user_id.as_deref(),
        event_id: rejected.event_id.as_deref(),
        reason: rejected.errors.join("; ").into(),
        body: begin.and_then(|begin| body.get(begin..)).unwrap_or_default(),
    }
}

/// Where the refused elements begin for which admission does not know it, by their index: those without a key.
fn begins_of_others(body: &[u8], rejected: &[Rejected]) -> HashMap<usize, usize> {
    let unknown = rejected.iter().filter(|one| one.begin.is_none());
    let mut begins: HashMap<usize, usize> = unknown.map(|one| (one.index, 0)).collect();
    if begins.is_empty() || body.trim_ascii_start().first() != Some(&b'[') {
        return begins;
    }
    let Ok(text) = str::from_utf8(body) else { return HashMap::new() };
    let mut index = 0;
    let taken = pieces::elements(text, |element| {
        if let Some(begin) = begins.get_mut(&index) {
            *begin = element.as_ptr().addr() - text.as_ptr().addr();
        }
        index += 1;
    });
    debug_assert!(taken.is_ok(), "the body was read as an array before");
    begins
}
