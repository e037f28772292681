//! Who sent a request, and what its events may therefore set off.

use std::collections::HashSet;

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
    /// An app, by a public key.
    App {
        /// Names of events that count as if a server had sent them.
        trusted_events: &'a HashSet<String>,
    },
}

impl Sender<'_> {
    /// The id under which an event is stored; `buffer` holds it where it differs from the one sent.
    #[inline]
    pub(super) fn event_id<'i>(self, sent: &'i str, buffer: &'i mut String) -> &'i str {
        match self {
            Self::Server => sent,
            Self::App { .. } => {
                buffer.clear();
                buffer.push_str(APP_EVENT_ID_PREFIX);
                buffer.push_str(sent);
                buffer
            }
        }
    }

    /// Whether events of this name may be orders, and set things off.
    #[inline]
    pub(super) fn trusts(self, event_name: &str) -> bool {
        match self {
            Self::Server => true,
            Self::App { trusted_events } => trusted_events.contains(event_name),
        }
    }
}
