//! Values of bodies and parameters as the description of the API has them, where a type of Rust cannot say by
//! itself what is read.

use std::{borrow::Cow, ops::RangeInclusive};

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Object, Ref, RefOr, Schema,
        schema::{
            AllOf, AnyOf, AnyOfBuilder, ArrayBuilder, KnownFormat, ObjectBuilder, OneOf,
            SchemaFormat, Type,
        },
    },
};

/// Schemas by name, to which a type adds those that it refers to.
pub type NamedSchemas = Vec<(String, RefOr<Schema>)>;

/// Earliest moment of an event as a number.
pub const EVENT_MS_MIN: i64 = 946_684_800_000;
/// Characters of an email address.
pub const EMAIL_CHARS_MAX: usize = 254;
/// Characters of the name of a list or campaign.
pub const NAME_CHARS_MAX: usize = 255;
/// Characters of a campaign's tag.
pub const TAG_CHARS_MAX: usize = 100;

/// Days of a year without the one that only some have.
const DAY: &str = "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|\
    (?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))";
/// The last two digits of leap years; those of centuries are left out.
const LEAP: &str = "(?:0[48]|[2468][048]|[13579][26])";
/// A time of a day, with or without seconds, their fraction and an offset.
const TIME: &str = "[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]{1,9})?)?\
    (?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?";
/// Any text but a blank one. NUL is refused everywhere.
const NOT_BLANK: &str = "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$";

/// A text with a length in characters, for fields whose own rule reads them.
pub fn text_of(chars: RangeInclusive<usize>) -> ObjectBuilder {
    let (min, max) = chars.into_inner();
    text().min_length((min > 0).then_some(min)).max_length((max < usize::MAX).then_some(max))
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// What matches a date in years that begin with these two digits, or a date-time.
fn moments_in(century: &str) -> String {
    format!("(?:{century}[0-9]{{2}}-{DAY}|{century}{LEAP}-02-29)(?:{TIME})?")
}

fn query_moment() -> ObjectBuilder {
    let description =
        "An ISO 8601 date or date-time, UTC without an offset; the empty text is none.";
    let pattern = format!("^(?:{})?$", moments_in("[0-9]{2}"));
    text().pattern(Some(pattern)).description(Some(description))
}

fn moment() -> Object {
    let description = "An ISO 8601 date or date-time. Without an offset it is UTC, where nothing else is said; a \
         date alone is its first moment, or as an end its last.";
    text()
        .pattern(Some(format!("^{}$", moments_in("[0-9]{2}"))))
        .description(Some(description))
        .examples(["2026-03-01T12:00:00Z", "2026-03-01"])
        .build()
}

/// A text of `min` to `max` characters that is not blank.
fn not_blank(max: usize) -> Object {
    text().min_length(Some(1)).max_length(Some(max)).pattern(Some(NOT_BLANK)).build()
}

fn bounded(max: usize) -> Object {
    text().min_length(Some(1)).max_length(Some(max)).build()
}

/// Declares a schema with a name.
macro_rules! schemas {
    ($($(#[$doc:meta])* $name:ident = $schema:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                RefOr::T($schema.into())
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    )*};
}

schemas! {
    /// An ISO 8601 date or date-time.
    Moment = moment();
    /// Likewise of a query, where the empty text is none.
    QueryMoment = query_moment();
    /// When an event happened: an ISO 8601 date or date-time, or milliseconds since 1970.
    EventMoment = AnyOf::builder()
        .item(text().pattern(Some(format!("^{}$", moments_in("20")))))
        .item(ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(EVENT_MS_MIN)))
        .description(Some(
            "An ISO 8601 date or date-time, or milliseconds since 1970: from 2000 to a year from now.",
        ));
    /// An email address, or the empty text, which is none.
    EmailOrNone = AnyOf::builder()
        .item(
            text()
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Email)))
                .max_length(Some(EMAIL_CHARS_MAX)),
        )
        .item(text().max_length(Some(0)))
        .description(Some("An email address; the empty text is none."));
    /// The name of a list or campaign.
    Name = not_blank(NAME_CHARS_MAX);
    /// What is not there.
    Null = ObjectBuilder::new().schema_type(Type::Null);
    /// A field whose only value is `true`.
    True = ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([true]));
    /// A field whose only value is `false`.
    False = ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([false]));
    /// What a campaign can be found by.
    Tag = not_blank(TAG_CHARS_MAX);
    /// The name or id of something, of up to 255 characters.
    NameOrId = bounded(255);
}

/// The schema of a closed set of words.
pub fn one_of_words(words: impl Iterator<Item = &'static str>) -> RefOr<Schema> {
    RefOr::T(text().enum_values(Some(words)).build().into())
}

/// The schema of one `T`, or a list of 1 to `max` of them.
pub fn one_or_list_of<T: ToSchema>(max: usize) -> RefOr<Schema> {
    let one = || Ref::from_schema_name(T::name());
    let list = ArrayBuilder::new().items(one()).min_items(Some(1)).max_items(Some(max));
    RefOr::T(OneOf::builder().item(one()).item(list).into())
}

/// Declares the schema of a body that is one of something, or a list of up to so many.
#[macro_export]
macro_rules! one_or_list {
    ($(#[$doc:meta])* $vis:vis $name:ident = $item:ty, $max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $name;

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::schema::one_or_list_of::<$item>($max)
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }

            fn schemas(schemas: &mut $crate::schema::NamedSchemas) {
                use utoipa::{PartialSchema as _, ToSchema};
                schemas.push((<$item as ToSchema>::name().into_owned(), <$item>::schema()));
                <$item as ToSchema>::schemas(schemas);
            }
        }
    };
}

pub use one_or_list;

/// A schema with one more rule: at least one of these fields has to say something.
pub fn with_any_field(schema: RefOr<Schema>, fields: &[&str]) -> RefOr<Schema> {
    let says_something = |field: &&str| {
        // Null and the empty text say nothing; what else a field may be, the schema describes.
        let present = OneOf::builder()
            .item(text().min_length(Some(1)))
            .item(ObjectBuilder::new().schema_type(Type::Object));
        ObjectBuilder::new().property(*field, present).required(*field)
    };
    let any = fields.iter().map(says_something).fold(AnyOf::builder(), AnyOfBuilder::item);
    RefOr::T(AllOf::builder().item(schema).item(any).into())
}

/// Declares the schema of an object whose fields another type describes, at least one of which has to say
/// something.
#[macro_export]
macro_rules! with_any_of {
    ($(#[$doc:meta])* $vis:vis $name:ident = $fields_of:ty, $fields:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $name;

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::schema::with_any_field(
                    <$fields_of as utoipa::PartialSchema>::schema(),
                    &$fields,
                )
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }

            fn schemas(schemas: &mut $crate::schema::NamedSchemas) {
                <$fields_of as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}

pub use with_any_of;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::Timestamp;

    #[test]
    fn the_timestamp_schema_matches_what_is_accepted() {
        let schema = serde_json::to_value(Moment::schema()).unwrap();
        let described = jsonschema::validator_for(&schema).unwrap();
        for text in [
            "2026-03-01",
            "2024-02-29",
            "2023-02-29",
            "2026-04-31",
            "2026-13-01",
            "2026-03-01T12:00",
            "2026-03-01 12:00:00",
            "2026-03-01T12:00:00.123456789Z",
            "2026-03-01T12:00:00.1234567890Z",
            "2026-03-01t12:00:00,5z",
            "2026-03-01T12:00:60Z",
            "2026-03-01T12:00:61Z",
            "2026-03-01T24:00",
            "2026-03-01T12:60",
            "2026-03-01T12:00+02",
            "2026-03-01T12:00+0200",
            "2026-03-01T12:00-02:00",
            "2026-03-01T12:00-2",
            "2026-03-01T12",
            "2026-03-01T",
            "2026-3-1",
            "20260301",
            "1",
            "",
        ] {
            let is_described = described.is_valid(&Value::from(text));
            assert_eq!(is_described, Timestamp::parse(text).is_ok(), "{text}");
        }
    }
}
