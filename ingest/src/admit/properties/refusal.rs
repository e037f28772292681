//! Why simd-json refuses properties, and where in them.

use crate::{
    model::limits::{PROPERTIES_BYTES_MAX, PROPERTIES_DEPTH_MAX},
    parse::{Parser, TAPE_BYTES_MAX, pieces},
};

use super::{
    super::identifiers::HAS_UNPAIRED_SURROGATES,
    path::{Path, Step},
    walk::DEPTH_FAULT,
};

const NUMBER_FAULT: &str = "must be an integer of 64 bits or within the range of a double";
/// Bytes of the longest number that always fits, if it has no exponent.
const SHORT_NUMBER_BYTES: usize = 18;

/// The message about properties that are an object by their grammar, and that simd-json refuses or
/// that are too long to be asked.
pub(in super::super) fn reason(text: &str, parser: &mut Parser) -> String {
    let bytes = text.len();
    if bytes > TAPE_BYTES_MAX {
        return format!(
            "properties must be at most {PROPERTIES_BYTES_MAX} bytes of JSON, received {bytes}"
        );
    }
    let mut search = Search { parser, path: Path::default(), depth: 0, found: None };
    search.container(text);
    search.found.unwrap_or_else(|| "properties cannot be read".to_owned())
}

/// Looks for the first value at fault.
struct Search<'p> {
    parser: &'p mut Parser,
    path: Path,
    depth: usize,
    found: Option<String>,
}

impl Search<'_> {
    /// Looks into an object or array. Recursion ends at the depth limit.
    fn container(&mut self, text: &str) {
        self.depth += 1;
        // The grammar was checked when the body was taken apart.
        if text.starts_with('{') {
            pieces::members(text, |key, value| self.member(key, value)).unwrap_or_default();
        } else {
            let mut index = 0;
            pieces::elements(text, |value| {
                self.value(Step::Index(index), value);
                index += 1;
            })
            .unwrap_or_default();
        }
        self.depth -= 1;
    }

    fn member(&mut self, key: &str, value: &str) {
        if self.found.is_some() {
            return;
        }
        let name = key.trim_matches('"');
        if !key.contains('\\') {
            return self.value(Step::Key(name), value);
        }
        let decoded = self.parser.parse(key.as_bytes(), |nodes| match nodes.first() {
            Some(simd_json::Node::String(key)) => (*key).to_owned(),
            _ => String::new(),
        });
        match decoded {
            Some(decoded) => self.value(Step::Key(&decoded), value),
            None => self.found = Some(self.path.message(Step::Key(name), HAS_UNPAIRED_SURROGATES)),
        }
    }

    fn value(&mut self, step: Step<'_>, text: &str) {
        if self.found.is_some() {
            return;
        }
        let message = match text.as_bytes().first() {
            Some(b'{' | b'[') if self.depth == PROPERTIES_DEPTH_MAX => DEPTH_FAULT,
            Some(b'{' | b'[') => {
                let outer = self.path.enter(step);
                self.container(text);
                self.path.leave(outer);
                return;
            }
            Some(b'"') if text.contains("\\u") && self.is_refused(text) => HAS_UNPAIRED_SURROGATES,
            Some(b'-' | b'0'..=b'9') if is_long(text) && self.is_refused(text) => NUMBER_FAULT,
            _ => return,
        };
        self.found = Some(self.path.message(step, message));
    }

    fn is_refused(&mut self, text: &str) -> bool {
        self.parser.parse(text.as_bytes(), |_| ()).is_none()
    }
}

fn is_long(number: &str) -> bool {
    number.len() > SHORT_NUMBER_BYTES || number.contains(['e', 'E'])
}
