//! Reads a JSON object field by field and collects every error, path first and in order.
//!
//! A reader goes on after an error with a placeholder, so that one answer lists every
//! error; `Body` throws the value away when there was any error.

pub mod describe;
pub mod problem;
pub mod value_of;

mod presence;
#[cfg(test)]
mod tests;

use std::{
    fmt::{self, Write as _},
    ops::RangeInclusive,
};

use serde_json::{Map, Value};
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

use self::{describe::Description, presence::Seen, value_of::Read};
pub use self::{
    presence::{Optional, Patch, Patched, Presence, Required},
    value_of::{Words, word_for},
};
use crate::{DayEdge, FieldError, Timestamp, schema::Moment};

/// Field errors listed in one answer; further ones are dropped.
const FIELD_ERRORS_MAX: usize = 1000;

/// Read from the fields of a JSON object.
pub trait FromFields: Sized {
    /// Reads every field of the object; errors go into `body`.
    fn from_fields(body: &mut Fields<'_>) -> Self;
}

/// Field errors in the order they were found.
#[derive(Debug, Default)]
pub(crate) struct FieldErrors {
    list: Vec<FieldError>,
    is_muted: bool,
}

impl FieldErrors {
    /// Ignores errors, while a reader is described.
    fn muted() -> Self {
        Self { list: Vec::new(), is_muted: true }
    }

    fn add(&mut self, path: String, problem: impl Into<String>) {
        if !self.is_muted && self.list.len() < FIELD_ERRORS_MAX {
            self.list.push(FieldError { path, problem: problem.into() });
        }
    }
}

/// Reads `T` out of one JSON value, which has to be an object.
pub fn read<T: FromFields>(value: &Value) -> Result<T, Vec<FieldError>> {
    read_object(value_of::object(value).map_err(|problem| vec![FieldError::new("", problem)])?)
}

/// Reads `T` out of an object that has been taken apart already.
///
/// # Errors
/// Every field error, in order.
pub fn read_object<T: FromFields>(map: &Map<String, Value>) -> Result<T, Vec<FieldError>> {
    read_object_by(map, T::from_fields)
}

/// Like [`read_object`], by a reader that knows more than the object says.
///
/// # Errors
/// Every field error, in order.
pub fn read_object_by<T>(
    map: &Map<String, Value>,
    read: impl FnOnce(&mut Fields<'_>) -> T,
) -> Result<T, Vec<FieldError>> {
    let mut errors = FieldErrors::default();
    let place = String::new();
    let value = read(&mut Fields { map, place, errors: &mut errors, description: None });
    if errors.list.is_empty() { Ok(value) } else { Err(errors.list) }
}

/// An object that says nothing; of a body that may be left out.
#[derive(Debug)]
pub struct EmptyBody;

impl FromFields for EmptyBody {
    fn from_fields(_: &mut Fields<'_>) -> Self {
        Self
    }
}

/// The fields of one object.
#[derive(Debug)]
pub struct Fields<'b> {
    map: &'b Map<String, Value>,
    /// Where this object is: empty for the body itself, `variants[1]` inside.
    place: String,
    errors: &'b mut FieldErrors,
    /// Where the reader is described.
    description: Option<&'b mut Description>,
}

impl Fields<'_> {
    /// A field that must be there; null is not there.
    pub fn required<'f>(&'f mut self, name: &'f str) -> Field<'f, Required> {
        self.field(name)
    }

    /// A field that may be absent or null.
    pub fn optional<'f>(&'f mut self, name: &'f str) -> Field<'f, Optional> {
        self.field(name)
    }

    /// A field for which absent and null differ.
    pub fn patch<'f>(&'f mut self, name: &'f str) -> Field<'f, Patched> {
        self.field(name)
    }

    fn field<'f, P: Presence>(&'f mut self, name: &'f str) -> Field<'f, P> {
        if let Some(description) = &mut self.description {
            description.begin_field();
        }
        Field {
            value: self.map.get(name),
            place: FieldPath { object: &self.place, step: Step::Key(name) },
            errors: self.errors,
            description: self.description.as_deref_mut(),
            presence: std::marker::PhantomData,
        }
    }

    /// The object as it was sent.
    pub fn sent(&self) -> &Map<String, Value> {
        self.map
    }

    /// Whether the field was sent, null included.
    pub fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// The fields that are not known, nulls left out; a name or a value that cannot be stored is refused.
    pub fn others(&mut self, is_known: impl Fn(&str) -> bool) -> Map<String, Value> {
        let map = self.map;
        let mut others = Map::new();
        for (name, value) in map.iter().filter(|(name, value)| !is_known(name) && !value.is_null())
        {
            match value_of::text(name, &(0..=usize::MAX)).and(value_of::storable(value)) {
                Ok(()) => drop(others.insert(name.clone(), value.clone())),
                Err(problem) => self.refuse(&name.replace('\0', ""), problem),
            }
        }
        others
    }

    /// Reports an error of a field, for rules that span several.
    pub fn refuse(&mut self, name: &str, problem: impl Into<String>) {
        let path = FieldPath { object: &self.place, step: Step::Key(name) }.to_string();
        self.errors.add(path, problem);
    }

    /// Whether the field, or something in it, was reported.
    pub fn is_refused(&self, name: &str) -> bool {
        let path = FieldPath { object: &self.place, step: Step::Key(name) }.to_string();
        let is_it = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        self.errors.list.iter().any(|it| it.path.strip_prefix(&*path).is_some_and(is_it))
    }

    /// Reports an error of the object itself.
    pub fn refuse_body(&mut self, problem: impl Into<String>) {
        self.errors.add(self.place.clone(), problem);
    }

    /// Whether nothing was reported so far.
    pub fn is_clean(&self) -> bool {
        self.errors.list.is_empty()
    }
}

/// Where a value is, written only when there is an error to report.
#[derive(Debug, Clone, Copy)]
struct FieldPath<'f> {
    object: &'f str,
    step: Step<'f>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'f> {
    Key(&'f str),
    Index(usize),
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.object)?;
        match self.step {
            Step::Key(name) => {
                if !self.object.is_empty() {
                    f.write_char('.')?;
                }
                f.write_str(name)
            }
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// One field, about to be read by one of the rules below. `P` says what its absence means.
#[derive(Debug)]
pub struct Field<'f, P> {
    value: Option<&'f Value>,
    place: FieldPath<'f>,
    errors: &'f mut FieldErrors,
    /// Where the reader is described.
    description: Option<&'f mut Description>,
    presence: std::marker::PhantomData<P>,
}

impl<P: Presence> Field<'_, P> {
    /// Sets the description of the field in the OpenAPI document.
    #[must_use]
    pub fn about(mut self, text: &'static str) -> Self {
        self.note(|description| description.about(text));
        self
    }

    /// Describes the field as required, where its absence is refused elsewhere.
    #[must_use]
    pub fn needed(mut self) -> Self {
        self.note(Description::needed);
        self
    }

    /// Describes the field by a schema with a name.
    #[must_use]
    pub fn as_type<T: ToSchema>(mut self) -> Self {
        self.note(Description::refer_to::<T>);
        self
    }

    /// Describes the field by a schema, where the rule alone does not say enough.
    #[must_use]
    pub fn as_schema(mut self, schema: impl FnOnce() -> RefOr<Schema>) -> Self {
        self.note(|description| description.schema(schema()));
        self
    }

    fn note(&mut self, note: impl FnOnce(&mut Description)) {
        if let Some(description) = &mut self.description {
            note(description);
        }
    }

    /// Records the rule of the field where the reader is described.
    fn describe(&mut self, rule: impl FnOnce(&mut Description, Option<&Value>) -> RefOr<Schema>) {
        if let Some(description) = &mut self.description {
            let Step::Key(name) = self.place.step else { return };
            description.add(name, P::REQUIRED, |description| rule(description, self.value));
        }
    }

    /// A text with a length in characters; NUL is refused.
    pub fn text(mut self, chars: RangeInclusive<usize>) -> P::Out<String> {
        self.describe(|_, _| describe::text(&chars));
        self.scalar(String::new, |value| value_of::text(value_of::string(value)?, &chars))
    }

    /// A whole number within `range`.
    pub fn integer(mut self, range: RangeInclusive<i64>) -> P::Out<i64> {
        self.describe(|_, _| describe::integer(&range));
        self.scalar(i64::default, |value| value_of::integer(value, &range))
    }

    /// A finite number within `range`.
    pub fn number(mut self, range: RangeInclusive<f64>) -> P::Out<f64> {
        self.describe(|_, _| describe::number(&range));
        self.scalar(f64::default, |value| value_of::number(value, &range))
    }

    /// A JSON boolean, not its text.
    pub fn bool(mut self) -> P::Out<bool> {
        self.describe(|_, _| describe::boolean());
        self.scalar(bool::default, value_of::boolean)
    }

    /// One of a closed set of words; the first is the placeholder after an error.
    pub fn one_of<T: Copy>(mut self, words: &Words<T>) -> P::Out<T> {
        self.describe(|_, _| describe::words(words));
        let (_, placeholder) = words[0];
        self.scalar(|| placeholder, |value| value_of::word(value_of::string(value)?, words))
    }

    /// An ISO 8601 moment; a date alone stands for that edge of its UTC day.
    pub fn timestamp(mut self, edge: DayEdge) -> P::Out<Timestamp> {
        self.describe(|description, _| {
            description.refer_to::<Moment>();
            description.take_schema()
        });
        self.scalar(|| Timestamp::from_millis(0), |value| value_of::timestamp(value, edge))
    }

    /// A text read by a rule of the caller, which words its own error (`must be a phone…`).
    pub fn parsed<T>(
        mut self,
        placeholder: T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> P::Out<T> {
        self.describe(|_, _| describe::any_text());
        self.scalar(
            || placeholder,
            |value| {
                let text = value_of::string(value)?;
                value_of::text(text, &(0..=usize::MAX))?;
                parse(text)
            },
        )
    }

    /// Any JSON that can be stored.
    pub fn json(mut self) -> P::Out<Value> {
        self.describe(|_, _| describe::anything());
        self.scalar(Value::default, |value| value_of::storable(value).map(|()| value.clone()))
    }

    /// The value as it was sent, NUL characters included, or null if it is absent: for readers that check it
    /// themselves.
    pub fn unchecked(mut self) -> Value {
        if self.description.as_ref().is_some_and(|it| it.has_schema()) {
            self.describe(|_, _| describe::anything());
        }
        self.value.cloned().unwrap_or_default()
    }

    /// A free-form JSON object that can be stored.
    pub fn json_object(mut self) -> P::Out<Map<String, Value>> {
        self.describe(|_, _| describe::free_object());
        self.scalar(Map::default, |value| {
            let map = value_of::object(value)?;
            value_of::storable(value).map(|()| map.clone())
        })
    }

    /// An object with fields of its own.
    pub fn object<T: FromFields>(self) -> P::Out<T> {
        self.object_by(T::from_fields)
    }

    /// An object with fields of its own, by a reader that knows more than the object says: what the
    /// channel of a campaign is, while its variants are read.
    pub fn object_by<T>(mut self, read: impl Fn(&mut Fields<'_>) -> T) -> P::Out<T> {
        self.describe(|outer, given| describe::object(outer, given, |fields| drop(read(fields))));
        let placeholder = || {
            let (map, mut muted) = (Map::new(), FieldErrors::default());
            let place = String::new();
            read(&mut Fields { map: &map, place, errors: &mut muted, description: None })
        };
        self.read(placeholder, |value, place, errors| {
            let map = value_of::object(value)?;
            Ok(read(&mut Fields { map, place: place.to_string(), errors, description: None }))
        })
    }

    /// A list with a length, each element read by `item`.
    pub fn list<T>(
        mut self,
        len: RangeInclusive<usize>,
        item: impl Fn(Field<'_, Required>) -> T,
    ) -> P::Out<Vec<T>> {
        self.describe(|outer, given| {
            describe::list(&len, describe::item(outer, given, &item)).into()
        });
        self.read(Vec::new, |value, place, errors| {
            Ok(items(value_of::list(value, &len)?, place, errors, item))
        })
    }

    /// A list of objects with fields of their own.
    pub fn objects<T: FromFields>(self, len: RangeInclusive<usize>) -> P::Out<Vec<T>> {
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the path is of one lifetime"
        )]
        self.list(len, |item| item.object())
    }

    /// A list, or a single element without its brackets.
    pub fn one_or_list<T>(
        mut self,
        len: RangeInclusive<usize>,
        item: impl Fn(Field<'_, Required>) -> T,
    ) -> P::Out<Vec<T>> {
        self.describe(|outer, given| {
            describe::one_or_list(&len, describe::item(outer, given, &item))
        });
        self.read(Vec::new, |value, place, errors| {
            if value.is_array() {
                return Ok(items(value_of::list(value, &len)?, place, errors, item));
            }
            let presence = std::marker::PhantomData;
            Ok(vec![item(Field { value: Some(value), place, errors, description: None, presence })])
        })
    }

    fn scalar<T>(
        self,
        placeholder: impl FnOnce() -> T,
        rule: impl FnOnce(&Value) -> Read<T>,
    ) -> P::Out<T> {
        self.read(placeholder, |value, _, _| rule(value))
    }

    /// Reads by `rule`, reports its error at the field, and leaves the rest to the presence.
    fn read<T>(
        self,
        placeholder: impl FnOnce() -> T,
        rule: impl FnOnce(&Value, FieldPath<'_>, &mut FieldErrors) -> Read<T>,
    ) -> P::Out<T> {
        let seen = match self.value {
            None => Seen::Absent,
            Some(Value::Null) => Seen::Null,
            Some(value) => match rule(value, self.place, self.errors) {
                Ok(read) => Seen::Value(read),
                Err(problem) => {
                    self.errors.add(self.place.to_string(), problem);
                    Seen::Wrong
                }
            },
        };
        if P::REQUIRED && matches!(seen, Seen::Absent | Seen::Null) {
            self.errors.add(self.place.to_string(), problem::REQUIRED);
        }
        P::give(seen, placeholder)
    }
}

fn items<T>(
    values: &[Value],
    place: FieldPath<'_>,
    errors: &mut FieldErrors,
    item: impl Fn(Field<'_, Required>) -> T,
) -> Vec<T> {
    let object = place.to_string();
    let mut read = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let place = FieldPath { object: &object, step: Step::Index(index) };
        let presence = std::marker::PhantomData;
        read.push(item(Field { value: Some(value), place, errors, description: None, presence }));
    }
    read
}
