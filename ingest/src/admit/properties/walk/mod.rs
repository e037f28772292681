//! One walk over an object of properties.

mod compose;

pub(in super::super) use compose::{Member, Optional};

use simd_json::{Node, StaticNode};

use crate::{
    model::limits::{NESTED_NUMBER_PATHS_BYTES_MAX, PROPERTIES_BYTES_MAX, PROPERTIES_DEPTH_MAX},
    parse::{Mark, Source, elements, members, number, write_double, write_json_string},
    record::{NumberBuffer, Numbers},
};

use super::{
    super::identifiers::HAS_NUL,
    path::{Path, Step},
    repeated,
};

/// Property names that belong to the system (specification, Ingestion rules 5).
const RESERVED_NAMES: [&str; 5] =
    ["$app_id", "$app_name", "$platform", "$session_id", "$anonymous_id"];
/// What `$platform` may be.
const PLATFORMS: [&str; 3] = ["web", "ios", "android"];
/// Keys of one object that are compared as they come; beyond, they are sorted at its end.
const KEYS_COMPARED_MAX: usize = 32;

pub(super) const DEPTH_FAULT: &str = "is nested too deep: properties may be at most 5 levels deep";
const _: () = assert!(PROPERTIES_DEPTH_MAX == 5, "the message says 5");

/// Whether a text can be kept as it was sent: it is within the limit as it is, and holds no NUL, which
/// JSON only has as an escape.
fn will_do(text: &str) -> bool {
    text.len() <= PROPERTIES_BYTES_MAX
        && !(text.as_bytes().contains(&b'\\') && text.contains("\\u0000"))
}

/// The state of a walk, and what it found.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The text: as sent, or written anew.
    text: String,
    /// The last string met, by which the end of the text is found.
    last_string: Option<Mark>,
    numbers: NumberBuffer,
    nested_paths_bytes: usize,
    fault: Option<String>,
    /// Sketches of the keys of the open objects.
    sketches: Vec<u64>,
    may_repeat_keys: bool,
    /// Whether the text is written anew, and values that later ones replace are left out: the slow
    /// way, taken when keys look alike at a glance, or when the text as sent will not do.
    is_careful: bool,
    root_keys: usize,
    path: Path,
    /// Open containers, the root included.
    depth: usize,
    open_arrays: usize,
}

impl Walk {
    /// Forgets what the previous event left.
    pub(super) fn begin(&mut self) {
        self.text.clear();
        self.last_string = None;
        self.numbers.clear();
        self.nested_paths_bytes = 0;
        self.fault = None;
        self.sketches.clear();
        self.may_repeat_keys = false;
        self.is_careful = false;
        self.root_keys = 0;
        self.path.clear();
        self.depth = 0;
        self.open_arrays = 0;
    }

    /// Walks the object that was sent under `key`.
    pub(super) fn root(&mut self, key: &str, object: &[Node<'_>], source: Source<'_>) {
        self.root_keys = self.object(object);
        if self.fault.is_some() {
            return;
        }
        let sent = source.object_after(key, self.last_string);
        match sent.filter(|text| !self.may_repeat_keys && will_do(text)) {
            Some(text) => self.text.push_str(text),
            None => self.root_anew(object),
        }
    }

    /// Walks an object and writes it.
    #[cold]
    fn root_anew(&mut self, object: &[Node<'_>]) {
        self.begin();
        self.is_careful = true;
        self.root_keys = self.object(object);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn root_keys(&self) -> usize {
        self.root_keys
    }

    pub(super) fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }

    pub(super) fn numbers(&self) -> Numbers<'_> {
        self.numbers.view()
    }

    /// Walks an object; gives the number of its keys. Recursion ends at the depth limit.
    fn object(&mut self, object: &[Node<'_>]) -> usize {
        if self.is_careful {
            return self.object_of_last_values(object);
        }
        let first_sketch = self.sketches.len();
        let mut count = 0;
        self.depth += 1;
        for (key, value) in members(object) {
            self.sketch(key, first_sketch);
            self.member(key, value);
            count += 1;
        }
        self.depth -= 1;
        self.compare_sketches(first_sketch);
        count
    }

    /// Walks an object, leaving out each value whose key comes again.
    #[cold]
    fn object_of_last_values(&mut self, object: &[Node<'_>]) -> usize {
        let repeated = repeated(members(object).map(|(key, _)| key));
        let mut count = 0;
        self.depth += 1;
        self.text.push('{');
        for (place, (key, value)) in members(object).enumerate() {
            if repeated.binary_search(&place).is_err() {
                if count > 0 {
                    self.text.push(',');
                }
                self.member(key, value);
                count += 1;
            }
        }
        self.text.push('}');
        self.depth -= 1;
        count
    }

    /// Walks a key and its value.
    #[inline]
    fn member(&mut self, key: &str, value: &[Node<'_>]) {
        let step = Step::Key(key);
        self.string(step, key);
        if self.is_careful {
            self.text.push(':');
        }
        if self.depth == 1 && key.starts_with('$') {
            self.check_reserved(key, value);
        }
        self.value(step, value);
    }

    /// Checks a top-level name that begins with `$`, and what it may be.
    #[cold]
    fn check_reserved(&mut self, key: &str, value: &[Node<'_>]) {
        if !RESERVED_NAMES.contains(&key) {
            self.fault_at(Step::Key(key), "is not allowed: names starting with $ are reserved");
        }
        let is_platform = match value.first() {
            Some(Node::String(text)) => PLATFORMS.contains(text),
            Some(Node::Static(StaticNode::Null)) => true,
            _ => false,
        };
        if key == "$platform" && !is_platform {
            self.fault_at(Step::Key(key), "must be web, ios or android");
        }
    }

    fn value(&mut self, step: Step<'_>, value: &[Node<'_>]) {
        match value.first() {
            Some(Node::String(text)) => self.string(step, text),
            Some(Node::Static(node)) => self.scalar(step, *node),
            Some(_) if self.depth == PROPERTIES_DEPTH_MAX => self.fault_at(step, DEPTH_FAULT),
            Some(Node::Object { .. }) => {
                let outer = self.path.enter(step);
                self.object(value);
                self.path.leave(outer);
            }
            Some(Node::Array { .. }) => {
                let outer = self.path.enter(step);
                self.array(value);
                self.path.leave(outer);
            }
            None => debug_assert!(false, "a value has a node"),
        }
    }

    fn array(&mut self, array: &[Node<'_>]) {
        self.depth += 1;
        self.open_arrays += 1;
        if self.is_careful {
            self.text.push('[');
        }
        for (index, value) in elements(array).enumerate() {
            if self.is_careful && index > 0 {
                self.text.push(',');
            }
            self.value(Step::Index(index), value);
        }
        if self.is_careful {
            self.text.push(']');
        }
        self.open_arrays -= 1;
        self.depth -= 1;
    }

    #[inline]
    fn string(&mut self, step: Step<'_>, text: &str) {
        if self.is_careful {
            self.write_string(step, text);
        } else {
            self.last_string = Some(Mark { address: text.as_ptr().addr(), depth: self.depth });
        }
    }

    fn write_string(&mut self, step: Step<'_>, text: &str) {
        if !write_json_string(&mut self.text, text) && text.contains('\0') {
            self.fault_at(step, HAS_NUL);
        }
    }

    #[inline]
    fn scalar(&mut self, step: Step<'_>, node: StaticNode) {
        if self.is_careful {
            self.write_scalar(node);
        }
        if let (Step::Key(key), Some(value), 0) = (step, number(node), self.open_arrays) {
            self.leaf(key, value);
        }
    }

    fn write_scalar(&mut self, node: StaticNode) {
        match node {
            StaticNode::I64(integer) => self.text.push_str(itoa::Buffer::new().format(integer)),
            StaticNode::U64(integer) => self.text.push_str(itoa::Buffer::new().format(integer)),
            StaticNode::F64(double) => write_double(&mut self.text, double),
            StaticNode::Bool(truth) => self.text.push_str(if truth { "true" } else { "false" }),
            StaticNode::Null => self.text.push_str("null"),
        }
    }

    /// Keeps a number outside of arrays.
    #[inline]
    fn leaf(&mut self, key: &str, value: f64) {
        if self.path.is_empty() {
            self.numbers.push(key, value);
            return;
        }
        self.nested_paths_bytes += self.path.as_str().len() + 1 + key.len();
        if self.nested_paths_bytes <= NESTED_NUMBER_PATHS_BYTES_MAX {
            let outer = self.path.enter(Step::Key(key));
            self.numbers.push(self.path.as_str(), value);
            self.path.leave(outer);
        }
    }

    /// Keeps the first broken rule: one message a field.
    #[cold]
    fn fault_at(&mut self, step: Step<'_>, message: &str) {
        if self.fault.is_none() {
            self.fault = Some(self.path.message(step, message));
        }
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
