//! Properties that are made of parts: of the members of several objects, under new names.

use std::borrow::Cow;

use simd_json::Node;

use crate::{
    model::limits::{PROPERTIES_BYTES_MAX, PROPERTY_KEYS_MAX},
    parse::{members, write_json_string},
    record::NumbersMark,
};

use super::{super::repeated, Step, Walk};

/// A member of an object that is composed.
#[derive(Debug, Clone)]
pub(in super::super::super) struct Member<'t, 'a> {
    pub(in super::super::super) name: Cow<'a, str>,
    pub(in super::super::super) value: &'t [Node<'a>],
}

/// An object of which a part is kept.
#[derive(Debug, Clone, Copy)]
pub(in super::super::super) struct Optional<'t, 'a> {
    pub(in super::super::super) name: &'static str,
    pub(in super::super::super) object: Option<&'t [Node<'a>]>,
}

/// How far a walk had come.
#[derive(Debug, Clone, Copy)]
struct WalkMark {
    text: usize,
    numbers: NumbersMark,
    nested_paths_bytes: usize,
}

impl Walk {
    /// Walks an object made of these members, no name twice, and writes it. Of `optional`, an object, it keeps under
    /// that name what is within the limits; gives the number of its members that were left out.
    pub(in super::super) fn composed(
        &mut self,
        made: &[Member<'_, '_>],
        optional: Optional<'_, '_>,
    ) -> usize {
        self.begin();
        self.is_careful = true;
        self.depth = 1;
        self.text.push('{');
        for (index, Member { name, value }) in made.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.member(name, value);
        }
        self.root_keys = made.len();
        let left_out = self.optional(optional);
        self.text.push('}');
        self.depth = 0;
        left_out
    }

    /// Adds an optional object under its name, without the members that break a limit.
    fn optional(&mut self, Optional { name, object }: Optional<'_, '_>) -> usize {
        let Some(object) = object.filter(|_| self.fault.is_none()) else { return 0 };
        let repeated = repeated(members(object).map(|(key, _)| key));
        let count = members(object).count() - repeated.len();
        if count == 0 || self.root_keys >= PROPERTY_KEYS_MAX {
            return count;
        }
        let (before, mut kept) = (self.mark(), 0);
        if self.root_keys > 0 {
            self.text.push(',');
        }
        write_json_string(&mut self.text, name);
        self.text.push_str(":{");
        self.depth += 1;
        let outer = self.path.enter(Step::Key(name));
        for (place, (key, value)) in members(object).enumerate() {
            if repeated.binary_search(&place).is_ok() {
                continue;
            }
            let mark = self.mark();
            if kept > 0 {
                self.text.push(',');
            }
            self.member(key, value);
            // The brackets of both objects are still to come.
            if self.fault.take().is_some() || self.text.len() + 2 > PROPERTIES_BYTES_MAX {
                self.reset(mark);
            } else {
                kept += 1;
            }
        }
        self.path.leave(outer);
        self.depth -= 1;
        if kept == 0 {
            self.reset(before);
        } else {
            self.text.push('}');
            self.root_keys += 1;
        }
        count - kept
    }

    fn mark(&self) -> WalkMark {
        WalkMark {
            text: self.text.len(),
            numbers: self.numbers.mark(),
            nested_paths_bytes: self.nested_paths_bytes,
        }
    }

    /// Forgets what was written since then.
    fn reset(&mut self, mark: WalkMark) {
        self.text.truncate(mark.text);
        self.numbers.truncate(mark.numbers);
        self.nested_paths_bytes = mark.nested_paths_bytes;
    }
}
