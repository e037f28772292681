//! Differences between two versions of a campaign, by JSON Pointer (RFC 6901). Variants are matched by id, so
//! that a moved one does not count as changed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// More changes than this are reported by whole fields.
const CHANGES_MAX: usize = 1000;
/// Characters of a JSON text above which a value is replaced by its size.
const VALUE_CHARS_MAX: usize = 500;
/// Changes of one entry of the history.
const ENTRY_CHANGES_MAX: usize = 50;
/// The list whose elements are matched by id.
const VARIANTS: &str = "variants";

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Add,
    Remove,
    Replace,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Difference {
    /// A JSON Pointer; a variant's index is that of the newer version, or of the older if it was removed.
    pub path: String,
    pub op: Op,
    /// The old value, null if there was none.
    pub before: Value,
    /// The new value, null if there is none.
    pub after: Value,
}

/// A change in an entry of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Change {
    /// A JSON Pointer into the definition.
    pub path: String,
    /// The old value, null if there was none; its size if it is long.
    pub before: Value,
    /// The new value, likewise.
    pub after: Value,
}

impl Change {
    pub fn of(path: &str, before: impl Into<Value>, after: impl Into<Value>) -> Self {
        Self {
            path: path.to_owned(),
            before: shortened(before.into()),
            after: shortened(after.into()),
        }
    }
}

/// Every difference between two versions.
pub fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let empty = Map::new();
    let (old, new) = (before.as_object().unwrap_or(&empty), after.as_object().unwrap_or(&empty));
    let mut found = Differences::default();
    for name in changed_fields(before, after) {
        let path = format!("/{}", escaped(&name));
        let (old, new) = (old.get(&name).and_then(set), new.get(&name).and_then(set));
        let mark = found.0.len();
        let is_listed = match (name.as_str(), old, new) {
            (VARIANTS, Some(Value::Array(old)), Some(Value::Array(new))) => {
                found.variants(&path, old, new)
            }
            _ => found.compare(&path, old, new),
        };
        if !is_listed {
            found.0.truncate(mark);
            found.0.extend(difference(path, old, new));
        }
    }
    found.0
}

/// The top-level fields that differ; null counts as absent.
pub fn changed_fields(before: &Value, after: &Value) -> Vec<String> {
    let empty = Map::new();
    let (old, new) = (before.as_object().unwrap_or(&empty), after.as_object().unwrap_or(&empty));
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let differs = |name: &&String| old.get(*name).and_then(set) != new.get(*name).and_then(set);
    new.keys().chain(gone).filter(differs).cloned().collect()
}

/// Shortens differences for the history: few changes with short values.
pub fn for_history(differences: Vec<Difference>) -> Vec<Change> {
    let change = |it: Difference| Change {
        path: it.path,
        before: shortened(it.before),
        after: shortened(it.after),
    };
    differences.into_iter().take(ENTRY_CHANGES_MAX).map(change).collect()
}

fn shortened(value: Value) -> Value {
    let chars = value.to_string().chars().count();
    if chars <= VALUE_CHARS_MAX { value } else { format!("({chars} characters of JSON)").into() }
}

fn set(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_null())
}

fn difference(path: String, old: Option<&Value>, new: Option<&Value>) -> Option<Difference> {
    let op = match (old, new) {
        (None, None) => return None,
        (None, Some(_)) => Op::Add,
        (Some(_), None) => Op::Remove,
        (Some(_), Some(_)) => Op::Replace,
    };
    let value = |it: Option<&Value>| it.cloned().unwrap_or_default();
    Some(Difference { path, op, before: value(old), after: value(new) })
}

/// Escapes a step of a pointer (RFC 6901, section 3).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[derive(Default)]
struct Differences(Vec<Difference>);

impl Differences {
    /// Compares a path and everything below; false once there are too many differences.
    fn compare(&mut self, path: &str, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            _ if old == new => true,
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                let gone = old.keys().filter(|name| !new.contains_key(*name));
                new.keys().chain(gone).all(|name| {
                    let path = format!("{path}/{}", escaped(name));
                    self.compare(&path, old.get(name), new.get(name))
                })
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => (0..old.len().max(new.len()))
                .all(|at| self.compare(&format!("{path}/{at}"), old.get(at), new.get(at))),
            _ => {
                self.0.extend(difference(path.to_owned(), old, new));
                self.0.len() <= CHANGES_MAX
            }
        }
    }

    fn variants(&mut self, path: &str, old: &[Value], new: &[Value]) -> bool {
        let found = |list: &[Value], id: &Value| {
            list.iter().position(|other| other.get("id").is_some_and(|other| other == id))
        };
        for (at, variant) in new.iter().enumerate() {
            let before = variant.get("id").and_then(|id| found(old, id)).map(|at| &old[at]);
            if !self.compare(&format!("{path}/{at}"), before, Some(variant)) {
                return false;
            }
        }
        for (at, variant) in old.iter().enumerate() {
            let is_gone = variant.get("id").is_none_or(|id| found(new, id).is_none());
            if is_gone && !self.compare(&format!("{path}/{at}"), Some(variant), None) {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
