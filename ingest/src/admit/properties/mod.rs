//! An event's properties: held to their limits, their JSON text kept, numeric leaves taken out.
//!
//! The text is the caller's own wherever it can be: every digit of a number stays. It is written anew,
//! compact and without a needless escape, where a key was sent twice (only its last value stays) and
//! where the text is longer than the limit, which holds for compact JSON.

mod path;
mod refusal;
mod repeated;
mod walk;

use crate::{
    model::limits::{PROPERTIES_BYTES_MAX, PROPERTY_KEYS_MAX},
    parse::Source,
    record::Numbers,
};

use super::element::Sent;
use walk::Walk;

pub(super) use refusal::reason;
pub(super) use repeated::repeated;
pub(super) use walk::{Member, Optional};

/// What is stored when the caller sent none.
const NONE: &str = "{}";

/// The properties of one event; buffers are reused from event to event.
#[derive(Debug, Default)]
pub(super) struct Properties {
    walk: Walk,
    fault: Option<String>,
}

impl Properties {
    /// Takes an event's properties. A broken rule is kept as the [`fault`](Self::fault).
    pub(super) fn take(&mut self, sent: &Sent<'_, '_>, source: Source<'_>) {
        self.walk.begin();
        self.fault = match sent {
            Sent::Absent => None,
            Sent::Object { key, nodes } => {
                self.walk.root(key, nodes, source);
                self.walk.take_fault().or_else(|| self.bounds_fault())
            }
            Sent::Refused(reason) => Some(reason.clone()),
            Sent::Other => Some("properties must be an object".to_owned()),
        };
    }

    /// Composes an object of these members and of what fits of another one. A broken rule is kept as the
    /// [`fault`](Self::fault); gives the number of members of the other object that were left out.
    pub(super) fn compose(&mut self, made: &[Member<'_, '_>], optional: Optional<'_, '_>) -> usize {
        let left_out = self.walk.composed(made, optional);
        self.fault = self.walk.take_fault().or_else(|| self.bounds_fault());
        left_out
    }

    fn bounds_fault(&self) -> Option<String> {
        let bytes = self.walk.text().len();
        if bytes > PROPERTIES_BYTES_MAX {
            return Some(format!(
                "properties must be at most {PROPERTIES_BYTES_MAX} bytes of JSON, received {bytes}"
            ));
        }
        let keys = self.walk.root_keys();
        (keys > PROPERTY_KEYS_MAX).then(|| {
            format!(
                "properties must have at most {PROPERTY_KEYS_MAX} top-level keys, received {keys}"
            )
        })
    }

    /// The message of the first broken rule.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// The text: an object in JSON.
    pub(super) fn text(&self) -> &str {
        match self.walk.text() {
            "" => NONE,
            text => text,
        }
    }

    /// Numeric leaves by dot path; arrays are not entered.
    pub(super) fn numbers(&self) -> Numbers<'_> {
        self.walk.numbers()
    }
}
