//! What fields are tried with, and what is wrong with it.

use kernel::Clock;
use serde_json::{Value, json};

/// The limits that events have.
const TEXT_CHARS_MAX: usize = 255;
const OBJECT_BYTES_MAX: usize = 51_200;
const OBJECT_KEYS_MAX: usize = 200;
const OBJECT_DEPTH_MAX: usize = 5;

/// How a type of call reads a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// It takes whatever the field holds.
    Anything,
    /// A text that the call does without.
    Text,
    /// A text that it needs.
    Needed,
    /// The type of the call itself.
    Type,
    Time,
    Email,
    Phone,
    /// An object of so many levels, which stands in one of so many bytes besides.
    Object {
        levels: usize,
        bytes_besides: usize,
    },
    /// Any value, as a property of so many levels.
    Property {
        levels: usize,
    },
    /// An object of which known fields are read.
    Envelope,
    /// An object with a field that the call needs.
    Holder,
}

/// An object that may be as large as properties.
pub(super) const WHOLE: Reads = Reads::Object { levels: OBJECT_DEPTH_MAX, bytes_besides: 0 };
/// The traits of a group, which are kept beside its id as one attribute.
pub(super) const GROUP: Reads = Reads::Object {
    levels: OBJECT_DEPTH_MAX - 1,
    bytes_besides: r#"{"groupId":"g","group":}"#.len(),
};
pub(super) const PROPERTY: Reads = Reads::Property { levels: OBJECT_DEPTH_MAX - 1 };

/// What a field is tried with: nothing, or a value.
pub(super) struct Faulty {
    pub(super) value: Option<Value>,
    /// What is wrong with it, as it follows the name of the field.
    pub(super) fault: Option<String>,
}

impl Faulty {
    pub(super) fn good(value: impl Into<Option<Value>>) -> Self {
        Self { value: value.into(), fault: None }
    }

    fn bad(value: impl Into<Option<Value>>, fault: &str) -> Self {
        Self { value: value.into(), fault: Some(fault.to_owned()) }
    }
}

/// An object nested so deep.
fn deep(levels: usize) -> Value {
    (1..levels).fold(json!({"a": 1}), |inner, _| json!({"a": inner}))
}

/// The path of the innermost object of one that is nested too deep.
fn too_deep(levels: usize) -> String {
    let path = ".a".repeat(levels);
    format!("{path} is nested too deep: properties may be at most {OBJECT_DEPTH_MAX} levels deep")
}

/// An object of so many bytes.
fn long(bytes: usize) -> Value {
    json!({"a": "x".repeat(bytes - r#"{"a":""}"#.len())})
}

fn keys(count: usize) -> Value {
    let members = (0..count).map(|number| (format!("k{number}"), json!(1)));
    Value::Object(members.collect())
}

/// A text of so many characters that begins with the number of a row, so that no two rows share it.
fn text(row: usize, chars: usize) -> Value {
    json!(format!("{row:06}{}", "ä".repeat(chars - 6)))
}

/// Values of all types but text.
fn no_texts() -> [Value; 4] {
    [json!({"a": 1}), json!([1]), json!(true), json!(5)]
}

/// All that a field is tried with, for the rows from this one on.
pub(super) fn tried(reads: Reads, row: usize) -> Vec<Faulty> {
    let absent = [None, Some(json!(null))];
    match reads {
        Reads::Anything => {
            let values = [deep(7), text(row, 300), keys(201)].into_iter().chain(no_texts());
            values.map(Some).chain(absent).map(Faulty::good).collect()
        }
        Reads::Text => texts(row, None),
        Reads::Needed => texts(row, Some(" is required")),
        Reads::Type => {
            let unknown = " must be track, page, screen, identify, group or alias";
            let mut all: Vec<Faulty> =
                absent.map(|value| Faulty::bad(value, " is required")).into();
            let wrong = no_texts().into_iter().chain([json!("Track"), json!("")]);
            all.extend(wrong.map(|value| Faulty::bad(value, unknown)));
            all
        }
        Reads::Time => times(),
        Reads::Email => emails(row),
        Reads::Phone => {
            let mut all: Vec<Faulty> =
                no_texts().map(|value| Faulty::bad(value, " must be a string")).into();
            let fault = " must be at most 20 characters, received 21";
            all.extend([
                Faulty::good(json!("1".repeat(20))),
                Faulty::bad(json!("1".repeat(21)), fault),
            ]);
            all
        }
        Reads::Object { levels, bytes_besides } => objects(levels, bytes_besides),
        Reads::Property { levels } => {
            let values = [deep(levels), text(row, 300)].into_iter().chain(no_texts());
            let mut all: Vec<Faulty> = values.map(Some).chain(absent).map(Faulty::good).collect();
            all.push(Faulty::bad(deep(levels + 1), &too_deep(levels)));
            all
        }
        Reads::Envelope => {
            let good = absent.into_iter().chain([deep(7), keys(201), json!({})].map(Some));
            let wrong = [text(row, 300), json!([1]), json!(true), json!(5)];
            good.map(Faulty::good)
                .chain(wrong.map(|it| Faulty::bad(it, " must be an object")))
                .collect()
        }
        Reads::Holder => absent
            .into_iter()
            .chain([Some(json!({}))])
            .map(|value| Faulty::bad(value, " is required"))
            .collect(),
    }
}

/// Texts, where a missing one has this fault.
fn texts(row: usize, missing: Option<&str>) -> Vec<Faulty> {
    let absent = [None, Some(json!(null)), Some(json!(""))];
    let over = TEXT_CHARS_MAX + 1;
    let too_long = format!(" must be at most {TEXT_CHARS_MAX} characters, received {over}");
    let mut all: Vec<Faulty> =
        absent.map(|value| Faulty { value, fault: missing.map(str::to_owned) }).into();
    // Whole numbers are taken for identifiers.
    let wrong = [json!({"a": 1}), json!([1]), json!(true), json!(5.5)];
    all.extend(wrong.map(|value| Faulty::bad(value, " must be a string")));
    all.extend([
        Faulty::bad(json!("a\0b"), " must not contain NUL characters"),
        Faulty::good(text(row, TEXT_CHARS_MAX)),
        // Listed up to the limit, it is not the text before.
        Faulty::bad(json!("ö".repeat(over)), &too_long),
    ]);
    all
}

fn emails(row: usize) -> Vec<Faulty> {
    let mut all: Vec<Faulty> =
        no_texts().map(|value| Faulty::bad(value, " must be a string")).into();
    all.extend([
        Faulty::good(json!(format!("of-{row}@example.test"))),
        Faulty::bad(json!("ann"), " must be an email address"),
        Faulty::bad(json!("x".repeat(1_001)), " must be at most 1000 characters, received 1001"),
    ]);
    all
}

fn times() -> Vec<Faulty> {
    let no_time = " must be an ISO 8601 date or time, or epoch milliseconds as a number";
    let far = " must be between 2000-01-01T00:00:00Z and one year from now";
    let ahead = |days: i64| {
        let at = Clock::system().now().utc() + chrono::TimeDelta::days(days);
        json!(at.to_rfc3339())
    };
    let wrong = [json!({"a": 1}), json!([1]), json!(true), json!("soon"), json!("2026-02-30")];
    let mut all: Vec<Faulty> = wrong.map(|value| Faulty::bad(value, no_time)).into();
    all.extend([
        Faulty::good(None),
        Faulty::good(json!(null)),
        Faulty::good(json!("2000-01-01T00:00:00Z")),
        Faulty::bad(json!("1999-12-31T23:59:59.999Z"), far),
        Faulty::good(ahead(364)),
        Faulty::bad(ahead(366), far),
    ]);
    all
}

fn objects(levels: usize, bytes_besides: usize) -> Vec<Faulty> {
    let (bytes, most) = (OBJECT_BYTES_MAX - bytes_besides, OBJECT_BYTES_MAX + 1);
    let too_long = format!(" must be at most {OBJECT_BYTES_MAX} bytes of JSON, received {most}");
    let over = OBJECT_KEYS_MAX + 1;
    let too_many = format!(" must have at most {OBJECT_KEYS_MAX} top-level keys, received {over}");
    let wrong = [json!([1]), json!(true), json!(5), json!("text")];
    let mut all: Vec<Faulty> = wrong.map(|value| Faulty::bad(value, " must be an object")).into();
    all.extend([
        Faulty::good(None),
        Faulty::good(json!(null)),
        Faulty::good(deep(levels)),
        Faulty::bad(deep(levels + 1), &too_deep(levels)),
        Faulty::good(long(bytes)),
        Faulty::bad(long(bytes + 1), &too_long),
        Faulty::good(keys(OBJECT_KEYS_MAX)),
    ]);
    // Of an object within another one any number of keys is kept.
    all.push(match bytes_besides {
        0 => Faulty::bad(keys(over), &too_many),
        _ => Faulty::good(keys(over)),
    });
    all
}
