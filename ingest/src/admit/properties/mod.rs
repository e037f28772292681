//! An event's properties: held to their limits, kept as compact JSON, numeric leaves taken out.
//!
//! The caller's values are kept as sent: numbers digit for digit, strings character for character.
//! What is made canonical is only what no reader can tell apart: white space goes, escapes become
//! the characters they stand for, of a key sent twice the last value stays. Properties that are
//! canonical already, as nearly all are, are never copied here: they remain a slice of the body.

mod distinct;
mod walk;

use crate::{
    model::limits::{PROPERTIES_BYTES_MAX, PROPERTY_KEYS_MAX},
    parse::{Kind, Nesting, Scanner, SyntaxError},
    record::Numbers,
};

use walk::Walk;

/// What is stored when the caller sent none.
const NONE: &str = "{}";

/// Where the compact text is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// None was sent, or null.
    #[default]
    Absent,
    /// At these bytes of the body.
    Body { start: usize, end: usize },
    /// In our own buffer.
    Copied,
}

/// The properties of one event; buffers are reused from event to event.
#[derive(Debug, Default)]
pub(super) struct Properties {
    place: Place,
    walk: Walk,
    fault: Option<String>,
}

impl Properties {
    /// Begins an event: it has no properties yet.
    pub(super) fn begin(&mut self) {
        self.place = Place::Absent;
        self.walk.forget_numbers();
        self.fault = None;
    }

    /// Reads the value the scanner is at. Only broken grammar is an error; a broken rule is kept as
    /// the [`fault`](Self::fault).
    pub(super) fn read(
        &mut self,
        scanner: &mut Scanner<'_>,
        nesting: &mut Nesting,
    ) -> Result<(), SyntaxError> {
        self.begin();
        match scanner.kind()? {
            Kind::Null => return scanner.literal(),
            Kind::Object => {}
            _ => {
                self.fault = Some("properties must be an object".to_owned());
                return scanner.skip(nesting);
            }
        }
        let start = scanner.position();
        self.walk.begin();
        self.walk.root(scanner)?;
        self.place = if self.walk.is_verbatim() {
            Place::Body { start, end: scanner.position() }
        } else {
            Place::Copied
        };
        if self.walk.may_repeat_keys() && self.walk.fault().is_none() {
            self.keep_last_of_each_key(scanner.since(start))?;
        }
        self.fault = self.walk.take_fault().or_else(|| self.bounds_fault(scanner.since(start)));
        Ok(())
    }

    /// Walks again over a text without the values that later ones replace.
    fn keep_last_of_each_key(&mut self, sent: &str) -> Result<(), SyntaxError> {
        let text = match self.place {
            Place::Copied => self.walk.copied(),
            _ => sent,
        };
        let distinct = distinct::keep_last(text)?;
        self.walk.begin();
        self.walk.root(&mut Scanner::new(&distinct))?;
        if self.walk.is_verbatim() {
            self.walk.set_copied(distinct);
        }
        self.place = Place::Copied;
        Ok(())
    }

    fn bounds_fault(&self, sent: &str) -> Option<String> {
        let bytes = match self.place {
            Place::Copied => self.walk.copied().len(),
            _ => sent.len(),
        };
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

    /// The compact text. `body` is the one that was read.
    pub(super) fn text<'t>(&'t self, body: &'t str) -> &'t str {
        match self.place {
            Place::Absent => NONE,
            Place::Body { start, end } => body.get(start..end).unwrap_or(NONE),
            Place::Copied => self.walk.copied(),
        }
    }

    /// Numeric leaves by dot path; arrays are not entered.
    pub(super) fn numbers(&self) -> Numbers<'_> {
        self.walk.numbers()
    }
}
