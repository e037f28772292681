//! Who sent a request, and what its events may therefore set off.

use std::collections::HashSet;

use super::{element::Field, validate::Moment};
use crate::model::limits::IDENTIFIER_CHARS_MAX;

/// What the stored ids of events begin with that came with a public key.
pub const APP_EVENT_ID_PREFIX: &str = "sdk:";

/// The holder of the key that a request came with.
///
/// A public key is in every copy of an app, so anybody can send anything with it. Its events have ids of
/// their own (`sdk:<id>`), so that none takes the place of a server's event; and unless their name is
/// trusted they are stored as they came, but are no order and set nothing off.
///
/// A server may use ids that begin with `sdk:` itself: it names the events of apps then, and the first one
/// recorded stays. No public key reaches an id that begins otherwise.
#[derive(Debug, Clone, Copy, Default)]
pub enum Sender<'a> {
    /// A program of the workspace, by a secret key.
    #[default]
    Server,
    /// Such a program, whose events have times that a server gave them when it received them first: an import of an export.
    ServerOfStampedEvents,
    /// An app, by a public key.
    App {
        /// Names of events that count as if a server had sent them.
        trusted_events: &'a HashSet<String>,
    },
}

impl Sender<'_> {
    /// Whether every copy of an app has the key.
    pub fn is_public(self) -> bool {
        matches!(self, Self::App { .. })
    }

    /// The id under which an event is stored; `buffer` holds it where it differs from the one sent.
    #[inline]
    pub(super) fn event_id<'i>(self, sent: &'i str, buffer: &'i mut String) -> &'i str {
        match self {
            Self::Server | Self::ServerOfStampedEvents => sent,
            Self::App { .. } => {
                buffer.clear();
                buffer.push_str(APP_EVENT_ID_PREFIX);
                buffer.push_str(sent);
                buffer
            }
        }
    }

    /// When an event happened that was sent with this time. Repeats of an event with a time that a server gave may have come without one.
    #[inline]
    pub(super) fn moment(self, timestamp_ms: i64) -> Moment {
        match self {
            Self::Server | Self::App { .. } => Moment::Sent(timestamp_ms),
            Self::ServerOfStampedEvents => Moment::Corrected(timestamp_ms),
        }
    }

    /// Longest id that may be sent, in characters. A server may name the event of an app, by its stored id.
    #[inline]
    pub(super) fn event_id_chars_max(self, sent: &Field<'_>) -> usize {
        match (self, sent) {
            (Self::Server | Self::ServerOfStampedEvents, Field::Text(id))
                if id.starts_with(APP_EVENT_ID_PREFIX) =>
            {
                IDENTIFIER_CHARS_MAX + APP_EVENT_ID_PREFIX.len()
            }
            _ => IDENTIFIER_CHARS_MAX,
        }
    }

    /// Whether events of this name may be orders, and set things off.
    #[inline]
    pub(super) fn trusts(self, event_name: &str) -> bool {
        match self {
            Self::Server | Self::ServerOfStampedEvents => true,
            Self::App { trusted_events } => trusted_events.contains(event_name),
        }
    }
}
