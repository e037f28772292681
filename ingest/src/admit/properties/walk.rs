//! One walk over an object of properties.

use std::fmt::Write;

use crate::{
    model::limits::{NESTED_NUMBER_PATHS_BYTES_MAX, PROPERTIES_DEPTH_MAX},
    parse::{Expected, Kind, Nesting, Number, Scanner, SyntaxError, Text, write_json_string},
    record::{NumberBuffer, Numbers},
};

/// Property names that belong to the system (specification, Ingestion rules 5).
const RESERVED_NAMES: [&str; 5] =
    ["$app_id", "$app_name", "$platform", "$session_id", "$anonymous_id"];
/// What `$platform` may be.
const PLATFORMS: [&str; 3] = ["web", "ios", "android"];
/// Keys of one object that are compared as they come; beyond, they are sorted at its end.
const KEYS_COMPARED_MAX: usize = 32;
/// Characters of a key shown in a message.
const SHOWN_KEY_CHARS_MAX: usize = 64;

const DEPTH_FAULT: &str = "is nested too deep: properties may be at most 5 levels deep";
const NUMBER_FAULT: &str = "must be an integer of 64 bits or within the range of a double";
const _: () = assert!(PROPERTIES_DEPTH_MAX == 5, "the message says 5");

/// Where a value stands in its container.
#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The state of a walk, and what it found.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The canonical text so far, empty as long as it equals the sent one.
    copied: String,
    /// Where the sent text that is not yet copied begins.
    copied_to: usize,
    is_verbatim: bool,
    numbers: NumberBuffer,
    nested_paths_bytes: usize,
    fault: Option<String>,
    /// Sketches of the keys of the open objects.
    sketches: Vec<u64>,
    may_repeat_keys: bool,
    root_keys: usize,
    /// Path of the open container, without the root.
    path: String,
    /// Open containers, the root included.
    depth: usize,
    open_arrays: usize,
    nesting: Nesting,
}

impl Walk {
    /// Begins another object.
    pub(super) fn begin(&mut self) {
        self.copied.clear();
        self.is_verbatim = true;
        self.numbers.clear();
        self.nested_paths_bytes = 0;
        self.fault = None;
        self.sketches.clear();
        self.may_repeat_keys = false;
        self.root_keys = 0;
        self.path.clear();
        self.depth = 0;
        self.open_arrays = 0;
    }

    /// Forgets the numeric leaves of the object before.
    pub(super) fn forget_numbers(&mut self) {
        self.numbers.clear();
    }

    /// Walks the object the scanner is at. Only broken grammar is an error.
    pub(super) fn root(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        self.copied_to = scanner.position();
        self.root_keys = self.object(scanner)?;
        if !self.is_verbatim {
            self.copied.push_str(scanner.since(self.copied_to));
        }
        Ok(())
    }

    pub(super) fn is_verbatim(&self) -> bool {
        self.is_verbatim
    }

    pub(super) fn copied(&self) -> &str {
        &self.copied
    }

    pub(super) fn set_copied(&mut self, text: String) {
        self.copied = text;
    }

    pub(super) fn may_repeat_keys(&self) -> bool {
        self.may_repeat_keys
    }

    pub(super) fn root_keys(&self) -> usize {
        self.root_keys
    }

    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    pub(super) fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }

    pub(super) fn numbers(&self) -> Numbers<'_> {
        self.numbers.view()
    }

    /// Walks an object; gives the number of its keys. Recursion ends at the depth limit.
    fn object(&mut self, scanner: &mut Scanner<'_>) -> Result<usize, SyntaxError> {
        let first_sketch = self.sketches.len();
        let mut count = 0;
        scanner.advance();
        if self.next(scanner) == Some(b'}') {
            scanner.advance();
            return Ok(0);
        }
        self.depth += 1;
        loop {
            if self.next(scanner) != Some(b'"') {
                return Err(scanner.error(Expected::Key));
            }
            let start = scanner.position();
            let is_escaped = self.string(scanner)?;
            let raw = scanner.slice(start + 1..scanner.position() - 1);
            if self.next(scanner) != Some(b':') {
                return Err(scanner.error(Expected::Colon));
            }
            scanner.advance();
            count += 1;
            self.member(Text { raw, is_escaped }, first_sketch, scanner)?;
            match self.next(scanner) {
                Some(b',') => scanner.advance(),
                Some(b'}') => break,
                _ => return Err(scanner.error(Expected::CommaOrBrace)),
            }
        }
        scanner.advance();
        self.depth -= 1;
        self.compare_sketches(first_sketch);
        Ok(count)
    }

    /// Walks the value of a key.
    #[inline]
    fn member(
        &mut self,
        sent: Text<'_>,
        first_sketch: usize,
        scanner: &mut Scanner<'_>,
    ) -> Result<(), SyntaxError> {
        let is_reserved = self.depth == 1 && sent.raw.starts_with('$');
        if sent.is_escaped || is_reserved {
            return self.unusual_member(sent, first_sketch, scanner);
        }
        self.sketch(sent.raw, first_sketch);
        self.value(Step::Key(sent.raw), scanner)
    }

    /// Walks the value of a key that has escapes or is reserved.
    #[cold]
    fn unusual_member(
        &mut self,
        sent: Text<'_>,
        first_sketch: usize,
        scanner: &mut Scanner<'_>,
    ) -> Result<(), SyntaxError> {
        // Sketches of escaped keys would not show what they mean.
        self.may_repeat_keys |= sent.is_escaped;
        self.sketch(sent.raw, first_sketch);
        let key = match sent.decode() {
            Ok(key) => key,
            Err(fault) => {
                self.fault_at(Step::Key(sent.raw), fault.message());
                return scanner.skip(&mut self.nesting);
            }
        };
        let step = Step::Key(&key);
        let is_reserved = self.depth == 1 && key.starts_with('$');
        if is_reserved && !RESERVED_NAMES.contains(&key.as_ref()) {
            self.fault_at(step, "is not allowed: names starting with $ are reserved");
        }
        self.next(scanner);
        let start = scanner.position();
        self.value(step, scanner)?;
        if is_reserved && key == "$platform" && !is_platform(scanner.since(start)) {
            self.fault_at(step, "must be web, ios or android");
        }
        Ok(())
    }

    fn value(&mut self, step: Step<'_>, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        self.next(scanner);
        match scanner.kind()? {
            Kind::Text => {
                let start = scanner.position();
                if self.string(scanner)? {
                    self.check_text(step, scanner.slice(start + 1..scanner.position() - 1));
                }
                Ok(())
            }
            Kind::Number => {
                let number = scanner.number()?;
                self.number(step, number);
                Ok(())
            }
            Kind::Bool | Kind::Null => scanner.literal(),
            Kind::Object | Kind::Array if self.depth == PROPERTIES_DEPTH_MAX => {
                self.fault_at(step, DEPTH_FAULT);
                scanner.skip(&mut self.nesting)
            }
            kind => {
                let outer = self.path.len();
                self.enter(step);
                if kind == Kind::Object {
                    self.object(scanner)?;
                } else {
                    self.array(scanner)?;
                }
                self.path.truncate(outer);
                Ok(())
            }
        }
    }

    fn array(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        scanner.advance();
        if self.next(scanner) == Some(b']') {
            scanner.advance();
            return Ok(());
        }
        self.depth += 1;
        self.open_arrays += 1;
        for index in 0.. {
            self.value(Step::Index(index), scanner)?;
            match self.next(scanner) {
                Some(b',') => scanner.advance(),
                Some(b']') => break,
                _ => return Err(scanner.error(Expected::CommaOrBracket)),
            }
        }
        scanner.advance();
        self.open_arrays -= 1;
        self.depth -= 1;
        Ok(())
    }

    /// The next byte that is not white space; white space before it is left out of the copy.
    #[inline]
    fn next(&mut self, scanner: &mut Scanner<'_>) -> Option<u8> {
        match scanner.byte() {
            Some(byte) if byte > b' ' => Some(byte),
            _ => self.next_after_space(scanner),
        }
    }

    fn next_after_space(&mut self, scanner: &mut Scanner<'_>) -> Option<u8> {
        let before = scanner.position();
        let next = scanner.peek();
        if scanner.position() != before {
            self.cut(scanner, before);
        }
        next
    }

    /// Copies what was sent up to `end`, and goes on copying where the scanner is.
    fn cut(&mut self, scanner: &Scanner<'_>, end: usize) {
        let sent = scanner.since(self.copied_to);
        let length = end - self.copied_to;
        self.copied.push_str(sent.get(..length).unwrap_or_default());
        self.copied_to = scanner.position();
        self.is_verbatim = false;
    }

    /// Steps over a string; its escapes are copied in canonical form. Gives whether it has any.
    #[inline]
    fn string(&mut self, scanner: &mut Scanner<'_>) -> Result<bool, SyntaxError> {
        let start = scanner.position();
        let is_escaped = scanner.skip_string()?;
        if is_escaped {
            self.copy_canonical(scanner, start);
        }
        Ok(is_escaped)
    }

    #[cold]
    fn copy_canonical(&mut self, scanner: &Scanner<'_>, start: usize) {
        let raw = scanner.slice(start + 1..scanner.position() - 1);
        if let Ok(decoded) = (Text { raw, is_escaped: true }).decode() {
            self.cut(scanner, start);
            write_json_string(&mut self.copied, &decoded);
        }
    }

    /// Checks a string that has escapes.
    #[cold]
    fn check_text(&mut self, step: Step<'_>, raw: &str) {
        if let Err(fault) = (Text { raw, is_escaped: true }).decode() {
            self.fault_at(step, fault.message());
        }
    }

    #[inline]
    fn number(&mut self, step: Step<'_>, number: Number<'_>) {
        if !number.is_portable {
            self.fault_at(step, NUMBER_FAULT);
        }
        let Step::Key(key) = step else { return };
        if self.open_arrays > 0 {
            return;
        }
        if self.path.is_empty() {
            self.numbers.push(key, number.value);
            return;
        }
        self.nested_paths_bytes += self.path.len() + 1 + key.len();
        if self.nested_paths_bytes <= NESTED_NUMBER_PATHS_BYTES_MAX {
            let outer = self.path.len();
            self.path.push('.');
            self.path.push_str(key);
            self.numbers.push(&self.path, number.value);
            self.path.truncate(outer);
        }
    }

    /// Extends the path by a container.
    fn enter(&mut self, step: Step<'_>) {
        match step {
            Step::Key(key) => {
                if !self.path.is_empty() {
                    self.path.push('.');
                }
                self.path.push_str(key);
            }
            Step::Index(index) => write!(self.path, "[{index}]").unwrap_or_default(),
        }
    }

    /// Keeps the first broken rule: one message a field.
    #[cold]
    fn fault_at(&mut self, step: Step<'_>, message: &str) {
        if self.fault.is_some() {
            return;
        }
        let outer = self.path.len();
        self.enter(step);
        let mut shown: String = self.path.chars().take(SHOWN_KEY_CHARS_MAX).collect();
        if shown.len() < self.path.len() {
            shown.push('…');
        }
        self.path.truncate(outer);
        let separator = if shown.starts_with('[') { "" } else { "." };
        self.fault = Some(format!("properties{separator}{shown} {message}"));
    }

    /// Remembers a key by a word that equal keys share, and that unequal ones seldom do.
    #[inline]
    fn sketch(&mut self, key: &str, first_sketch: usize) {
        let bytes = key.as_bytes();
        let word = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(first), Some(last)) => {
                u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(29)
            }
            _ => bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        let sketch = word ^ (bytes.len() as u64) << 56;
        let known = self.sketches.get(first_sketch..).unwrap_or_default();
        self.may_repeat_keys |= known.len() < KEYS_COMPARED_MAX && known.contains(&sketch);
        self.sketches.push(sketch);
    }

    /// Leaves an object; compares its keys when they were too many to be compared as they came.
    fn compare_sketches(&mut self, first_sketch: usize) {
        let known = self.sketches.get_mut(first_sketch..).unwrap_or_default();
        if known.len() > KEYS_COMPARED_MAX {
            known.sort_unstable();
            self.may_repeat_keys |= known.windows(2).any(|pair| pair[0] == pair[1]);
        }
        self.sketches.truncate(first_sketch);
    }
}

/// Whether the value whose text is `sent` may be that of `$platform`; null stands for none.
fn is_platform(sent: &str) -> bool {
    let mut scanner = Scanner::new(sent);
    match scanner.kind() {
        Ok(Kind::Null) => true,
        Ok(Kind::Text) => scanner
            .string()
            .is_ok_and(|text| text.decode().is_ok_and(|text| PLATFORMS.contains(&text.as_ref()))),
        _ => false,
    }
}
