//! Describes what a reader takes. The reader runs without a body, and each rule records the schema of its field:
//! what is described is what is enforced.

use std::{fmt, ops::RangeInclusive};

use serde_json::{Map, Value};
use utoipa::{
    ToSchema,
    openapi::{
        Ref, RefOr, Schema,
        schema::{
            AdditionalProperties, AnyOf, Array, ArrayBuilder, KnownFormat, Object, ObjectBuilder,
            OneOf, SchemaFormat, SchemaType, Type,
        },
    },
};

use super::{Field, FieldErrors, FieldPath, Fields, FromFields, Required, Step, Words};

/// Levels of objects and lists that are described. Filters contain filters.
const DEPTH_MAX: usize = 12;

/// A schema and the named schemas it refers to.
pub struct Described {
    /// The schema of the object.
    pub schema: RefOr<Schema>,
    /// What it refers to.
    pub components: Vec<(String, RefOr<Schema>)>,
}

// Schemas have no form for debugging.
impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Described").finish_non_exhaustive()
    }
}

/// Describes what a type reads.
pub fn describe<T: FromFields>() -> Described {
    describe_by(&Map::new(), |fields| drop(T::from_fields(fields)))
}

/// Describes what a reader takes when the given fields are present: the rules of some fields depend on others.
pub fn describe_by(given: &Map<String, Value>, read: impl Fn(&mut Fields<'_>)) -> Described {
    let mut description = Description::default();
    let schema = object_of(&mut description, given, read);
    Described { schema, components: description.components }
}

/// One object that is read in either of several ways: the fields of all, required where all require them.
pub fn either(ways: impl IntoIterator<Item = Described>) -> Described {
    let both = |mut all: Described, more: Described| {
        if let RefOr::T(Schema::Object(object)) = &mut all.schema
            && let RefOr::T(Schema::Object(other)) = more.schema
        {
            object.required.retain(|name| other.required.contains(name));
            for (name, schema) in other.properties {
                object.properties.entry(name).or_insert(schema);
            }
        }
        all.components.extend(more.components);
        all
    };
    let nothing = || Described { schema: free_object(), components: Vec::new() };
    ways.into_iter().reduce(both).unwrap_or_else(nothing)
}

/// The schema of a reader under the documentation of its type, one line an element.
pub fn documented(described: Described, doc: &[&str]) -> RefOr<Schema> {
    with_text(described.schema, joined(doc))
}

/// The schema of a closed set of words under its documentation.
pub fn words_of<T>(table: &Words<T>, doc: &[&str]) -> RefOr<Schema> {
    with_text(words(table), joined(doc))
}

fn joined(doc: &[&str]) -> String {
    doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n")
}

/// An object schema under construction.
#[derive(Default)]
pub(super) struct Description {
    properties: Vec<(String, RefOr<Schema>)>,
    required: Vec<String>,
    components: Vec<(String, RefOr<Schema>)>,
    depth: usize,
    annotations: Annotations,
}

/// Annotations of the next field.
#[derive(Default)]
pub(super) struct Annotations {
    about: Option<&'static str>,
    schema: Option<RefOr<Schema>>,
    is_needed: bool,
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description").field("required", &self.required).finish_non_exhaustive()
    }
}

impl Description {
    pub(super) fn begin_field(&mut self) {
        self.annotations = Annotations::default();
    }

    pub(super) fn about(&mut self, text: &'static str) {
        self.annotations.about = Some(text);
    }

    pub(super) fn needed(&mut self) {
        self.annotations.is_needed = true;
    }

    pub(super) fn schema(&mut self, schema: RefOr<Schema>) {
        self.annotations.schema = Some(schema);
    }

    pub(super) fn refer_to<T: ToSchema>(&mut self) {
        self.components.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.components);
        self.annotations.schema = Some(Ref::from_schema_name(T::name()).into());
    }

    /// The schema set last.
    pub(super) fn take_schema(&mut self) -> RefOr<Schema> {
        self.annotations.schema.take().unwrap_or_else(anything)
    }

    pub(super) fn has_schema(&self) -> bool {
        self.annotations.schema.is_some()
    }

    /// Records a field; where a field is read more than once, its first rule counts.
    pub(super) fn add(
        &mut self,
        name: &str,
        is_required: bool,
        rule: impl FnOnce(&mut Self) -> RefOr<Schema>,
    ) {
        let Annotations { about, schema, is_needed } = std::mem::take(&mut self.annotations);
        if self.properties.iter().any(|(known, _)| known == name) {
            return;
        }
        let schema = schema.unwrap_or_else(|| rule(self));
        let schema = match about {
            Some(text) => with_text(schema, text),
            None => schema,
        };
        if is_required || is_needed {
            self.required.push(name.to_owned());
            self.properties.push((name.to_owned(), schema));
        } else {
            self.properties.push((name.to_owned(), or_null(schema)));
        }
    }

    fn inside(&self) -> Self {
        Self { depth: self.depth + 1, ..Self::default() }
    }
}

pub(super) fn text(chars: &RangeInclusive<usize>) -> RefOr<Schema> {
    let (min, max) = (*chars.start(), *chars.end());
    string()
        .min_length((min > 0).then_some(min))
        .max_length((max < usize::MAX).then_some(max))
        .into()
}

pub(super) fn any_text() -> RefOr<Schema> {
    string().into()
}

pub(super) fn integer(range: &RangeInclusive<i64>) -> RefOr<Schema> {
    let (min, max) = (*range.start(), *range.end());
    let is_small = i32::try_from(min).is_ok() && i32::try_from(max).is_ok();
    let format = if is_small { KnownFormat::Int32 } else { KnownFormat::Int64 };
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(format)))
        .minimum((min > i64::MIN).then_some(min))
        .maximum((max < i64::MAX).then_some(max))
        .into()
}

pub(super) fn number(range: &RangeInclusive<f64>) -> RefOr<Schema> {
    let (min, max) = (*range.start(), *range.end());
    ObjectBuilder::new()
        .schema_type(Type::Number)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)))
        .minimum(min.is_finite().then_some(min))
        .maximum(max.is_finite().then_some(max))
        .into()
}

pub(super) fn boolean() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Boolean).into()
}

pub(super) fn words<T>(words: &Words<T>) -> RefOr<Schema> {
    string().enum_values(Some(words.iter().map(|(name, _)| *name))).into()
}

/// The schema of any JSON value.
pub fn anything() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).into()
}

/// An object of any fields.
pub fn free_object() -> RefOr<Schema> {
    let any = Object::builder().schema_type(SchemaType::AnyValue).build();
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(any.into()))))
        .property_names(Some(Schema::from(string().build())))
        .into()
}

/// An object, described by running its reader.
pub(super) fn object(
    outer: &mut Description,
    given: Option<&Value>,
    read: impl Fn(&mut Fields<'_>),
) -> RefOr<Schema> {
    match given.and_then(Value::as_object) {
        Some(map) => object_of(outer, map, read),
        None => object_of(outer, &Map::new(), read),
    }
}

fn object_of(
    outer: &mut Description,
    map: &Map<String, Value>,
    read: impl Fn(&mut Fields<'_>),
) -> RefOr<Schema> {
    if outer.depth == DEPTH_MAX {
        return free_object();
    }
    let (mut inside, mut muted) = (outer.inside(), FieldErrors::muted());
    let place = String::new();
    read(&mut Fields { map, place, errors: &mut muted, description: Some(&mut inside) });
    outer.components.append(&mut inside.components);
    let mut object = ObjectBuilder::new().schema_type(Type::Object);
    for (name, schema) in inside.properties {
        object = object.property(name, schema);
    }
    inside.required.into_iter().fold(object, ObjectBuilder::required).into()
}

/// What an element of a list may be, described by reading one.
pub(super) fn item<T>(
    outer: &mut Description,
    given: Option<&Value>,
    read: impl Fn(Field<'_, Required>) -> T,
) -> RefOr<Schema> {
    if outer.depth == DEPTH_MAX {
        return anything();
    }
    let (mut inside, mut muted) = (outer.inside(), FieldErrors::muted());
    read(Field {
        value: given.and_then(|list| list.get(0)),
        place: FieldPath { object: "", step: Step::Key("") },
        errors: &mut muted,
        description: Some(&mut inside),
        presence: std::marker::PhantomData,
    });
    outer.components.append(&mut inside.components);
    inside.properties.pop().map_or_else(anything, |(_, schema)| schema)
}

pub(super) fn list(len: &RangeInclusive<usize>, items: RefOr<Schema>) -> ArrayBuilder {
    let (min, max) = (*len.start(), *len.end());
    ArrayBuilder::new()
        .items(items)
        .min_items((min > 0).then_some(min))
        .max_items((max < usize::MAX).then_some(max))
}

pub(super) fn one_or_list(len: &RangeInclusive<usize>, items: RefOr<Schema>) -> RefOr<Schema> {
    OneOf::builder().item(items.clone()).item(list(len, items)).into()
}

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn with_text(mut schema: RefOr<Schema>, text: impl Into<String>) -> RefOr<Schema> {
    let text = text.into();
    match &mut schema {
        RefOr::Ref(reference) => reference.description = text,
        RefOr::T(Schema::Object(it)) => it.description = Some(text),
        RefOr::T(Schema::Array(it)) => it.description = Some(text),
        RefOr::T(Schema::OneOf(it)) => it.description = Some(text),
        RefOr::T(Schema::AnyOf(it)) => it.description = Some(text),
        RefOr::T(Schema::AllOf(it)) => it.description = Some(text),
        RefOr::T(_) => {}
    }
    schema
}

/// The schema of a field that may be null.
fn or_null(schema: RefOr<Schema>) -> RefOr<Schema> {
    let null = || ObjectBuilder::new().schema_type(Type::Null);
    match schema {
        RefOr::T(Schema::Object(mut object)) => {
            object.schema_type = type_or_null(object.schema_type);
            if let Some(words) = &mut object.enum_values {
                words.push(Value::Null);
            }
            RefOr::T(object.into())
        }
        RefOr::T(Schema::Array(mut array)) => {
            array.schema_type = type_or_null(array.schema_type);
            RefOr::T(Array::into(array))
        }
        RefOr::T(Schema::AnyOf(mut any)) => {
            any.items.push(null().into());
            RefOr::T(AnyOf::into(any))
        }
        other => OneOf::builder().item(other).item(null()).into(),
    }
}

fn type_or_null(of: SchemaType) -> SchemaType {
    match of {
        SchemaType::Type(it) if it != Type::Null => SchemaType::Array(vec![it, Type::Null]),
        other => other,
    }
}

/// Describes a type that reads fields by what it reads, under a name and its documentation.
#[macro_export]
macro_rules! described {
    ($(#[doc = $doc:literal])+ $reads:ty as $name:literal) => {
        impl utoipa::PartialSchema for $reads {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let described = $crate::fields::describe::describe::<Self>();
                $crate::fields::describe::documented(described, &[$($doc),+])
            }
        }

        impl utoipa::ToSchema for $reads {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed($name)
            }

            fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
            ) {
                schemas.extend($crate::fields::describe::describe::<Self>().components);
            }
        }
    };
}

pub use described;

/// Declares the schema of a closed set of words, from the table they are read by: of a type of its own, or of the type
/// that is read.
#[macro_export]
macro_rules! words_schema {
    ($(#[doc = $doc:literal])+ $vis:vis $name:ident = $words:expr) => {
        $crate::words_schema!($(#[doc = $doc])+ $vis $name as stringify!($name), $words);
    };
    ($(#[doc = $doc:literal])+ $vis:vis $name:ident as $alias:expr, $words:expr) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy)]
        $vis struct $name;

        $crate::words_schema!($(#[doc = $doc])+ for $name as $alias, $words);
    };
    ($(#[doc = $doc:literal])+ for $name:ty as $alias:expr, $words:expr) => {
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::fields::describe::words_of($words, &[$($doc),+])
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed($alias)
            }
        }
    };
}

pub use words_schema;

#[cfg(test)]
mod tests;
