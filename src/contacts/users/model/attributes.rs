//! Custom attributes: a free-form JSON object within limits, in the form in which PostgreSQL stores it.
//!
//! They are read as text, not as a tree, because numbers must keep every digit: `jsonb` holds them as exact
//! decimals and prints them in plain notation. The limits apply to the plain notation, so that a number of five
//! characters cannot become one of a hundred thousand in the database.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// Keys at the top of the object.
pub const KEYS_MAX: usize = 200;
/// Bytes of the object as compact UTF-8 JSON.
pub const BYTES_MAX: usize = 51_200;
/// Nested containers; the object itself counts as 1.
pub const DEPTH_MAX: usize = 5;
/// Digits of a number before its decimal point, and after it, in plain notation. A double has at most 309
/// before it. PostgreSQL takes more, which other JSON readers cannot read.
pub const NUMBER_DIGITS_MAX: usize = 400;

/// The text of an object without attributes.
pub const NONE: &str = "{}";

/// A JSON object within the limits, compact, without repeated keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes(String);

/// Why a value cannot be stored as a profile's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AttributesFault {
    /// Another type of JSON.
    #[error("must be an object")]
    NotAnObject,
    /// Too many nested containers.
    #[error("must be nested at most {DEPTH_MAX} deep, received {0}")]
    TooDeep(usize),
    #[error("must have at most {KEYS_MAX} keys, received {0}")]
    TooManyKeys(usize),
    #[error("must be at most {BYTES_MAX} bytes of JSON, received {0}")]
    TooLong(usize),
    /// PostgreSQL cannot store it.
    #[error("must not contain NUL characters")]
    Nul,
    /// A text with half of a surrogate pair.
    #[error("must not contain half of a surrogate pair")]
    Unpaired,
    /// A number that other JSON readers cannot read back.
    #[error(
        "must not contain numbers of more than {NUMBER_DIGITS_MAX} digits before or after the point"
    )]
    NumberTooLong,
}

impl Attributes {
    /// Reads the text of one JSON value.
    ///
    /// # Errors
    /// The first limit that is exceeded.
    pub fn read(json: &RawValue) -> Result<Self, AttributesFault> {
        let json = json.get();
        if !json.starts_with('{') {
            return Err(AttributesFault::NotAnObject);
        }
        let depth = depth_of(json);
        if depth > DEPTH_MAX {
            return Err(AttributesFault::TooDeep(depth));
        }
        let members = members(json)?;
        let mut text = String::with_capacity(json.len());
        write_members(&members, &mut text)?;
        within_bounds(members.len(), text.len())?;
        Ok(Self(text))
    }

    /// Reads the text of one JSON value.
    ///
    /// # Errors
    /// The first limit that is exceeded; a text that is no JSON is no object.
    pub fn read_text(json: &str) -> Result<Self, AttributesFault> {
        let value: &RawValue =
            serde_json::from_str(json).map_err(|_| AttributesFault::NotAnObject)?;
        Self::read(value)
    }

    /// Two sets of attributes as one: of equal names the later counts, or the earlier.
    ///
    /// # Errors
    /// The first limit that both exceed together.
    pub fn merged(
        earlier: Option<&Self>,
        later: Option<&Self>,
        earlier_counts: bool,
    ) -> Result<Option<Self>, AttributesFault> {
        let (Some(earlier), Some(later)) = (earlier, later) else {
            return Ok(earlier.or(later).cloned());
        };
        let (weaker, stronger) = if earlier_counts { (later, earlier) } else { (earlier, later) };
        let mut both = members(&weaker.0)?;
        both.extend(members(&stronger.0)?);
        let mut text = String::with_capacity(weaker.0.len() + stronger.0.len());
        write_members(&both, &mut text)?;
        within_bounds(both.len(), text.len())?;
        Ok(Some(Self(text)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Checks attributes as PostgreSQL printed them against the limits that a merge can exceed. A merge cannot
/// increase the depth.
///
/// # Errors
/// The first limit that is exceeded.
pub fn check_stored(printed: &str, keys: usize) -> Result<(), AttributesFault> {
    within_bounds(keys, compact(printed).len())
}

fn within_bounds(keys: usize, bytes: usize) -> Result<(), AttributesFault> {
    if keys > KEYS_MAX {
        return Err(AttributesFault::TooManyKeys(keys));
    }
    if bytes > BYTES_MAX {
        return Err(AttributesFault::TooLong(bytes));
    }
    Ok(())
}

/// JSON as PostgreSQL prints it, without the spaces that PostgreSQL inserts.
pub fn compact(printed: &str) -> String {
    let mut text = String::with_capacity(printed.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in printed.chars() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if character == ' ' {
            continue;
        } else {
            in_string = character == '"';
        }
        text.push(character);
    }
    text
}

/// The deepest nesting of containers. Looks only at quotes and brackets, without recursion, so that deep
/// nesting cannot overflow the stack.
fn depth_of(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// An object's members by key. The last value of a repeated key counts.
fn members(object: &str) -> Result<BTreeMap<String, &RawValue>, AttributesFault> {
    serde_json::from_str(object).map_err(|_| AttributesFault::Unpaired)
}

fn write_members(
    members: &BTreeMap<String, &RawValue>,
    out: &mut String,
) -> Result<(), AttributesFault> {
    out.push('{');
    for (index, (key, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(key, out)?;
        out.push(':');
        write_value(value.get(), out)?;
    }
    out.push('}');
    Ok(())
}

/// Writes a value whose nesting has been checked.
fn write_value(json: &str, out: &mut String) -> Result<(), AttributesFault> {
    match json.as_bytes().first() {
        Some(b'{') => write_members(&members(json)?, out),
        Some(b'[') => {
            let elements: Vec<&RawValue> =
                serde_json::from_str(json).map_err(|_| AttributesFault::Unpaired)?;
            out.push('[');
            for (index, element) in elements.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(element.get(), out)?;
            }
            out.push(']');
            Ok(())
        }
        Some(b'"') => {
            let text: String = serde_json::from_str(json).map_err(|_| AttributesFault::Unpaired)?;
            write_text(&text, out)
        }
        Some(b'-' | b'0'..=b'9') => write_number(json, out),
        _ => {
            out.push_str(json);
            Ok(())
        }
    }
}

fn write_text(text: &str, out: &mut String) -> Result<(), AttributesFault> {
    if text.contains('\0') {
        return Err(AttributesFault::Nul);
    }
    out.push_str(&serde_json::Value::from(text).to_string());
    Ok(())
}

/// Writes a JSON number in plain notation with all its digits, the way PostgreSQL prints it.
fn write_number(json: &str, out: &mut String) -> Result<(), AttributesFault> {
    let unsigned = json.strip_prefix('-').unwrap_or(json);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // An exponent beyond 64 bits exceeds the limit as well.
    let exponent: i64 = exponent.parse().unwrap_or(if exponent.starts_with('-') {
        i64::MIN / 2
    } else {
        i64::MAX / 2
    });
    let digits = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0');
    let max = i64::try_from(NUMBER_DIGITS_MAX).unwrap_or(i64::MAX);
    let length = |digits: &str| i64::try_from(digits.len()).unwrap_or(i64::MAX / 2);
    let after = length(fraction).saturating_sub(exponent).max(0);
    let before =
        if significant.is_empty() { 0 } else { length(significant) - length(fraction) + exponent };
    if before > max || after > max {
        return Err(AttributesFault::NumberTooLong);
    }
    // Zeros may have to be added before the digits or after them.
    let written = usize::try_from(before.saturating_add(after)).unwrap_or(0);
    let after = usize::try_from(after).unwrap_or(0);
    let mut plain = significant.to_owned();
    if !significant.is_empty() {
        plain.extend(std::iter::repeat_n('0', written.saturating_sub(plain.len())));
    }
    let plain = format!("{plain:0>width$}", width = after + 1);
    let (head, tail) = plain.split_at(plain.len() - after);
    if json.starts_with('-') && !significant.is_empty() {
        out.push('-');
    }
    out.push_str(head);
    if !tail.is_empty() {
        out.push('.');
        out.push_str(tail);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(json: &str) -> Result<Attributes, AttributesFault> {
        Attributes::read(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn an_object_is_compact_with_the_last_value_of_a_repeated_key() {
        let read =
            read(" { \"b\" : [1, {\"x\": null}], \"a\":\"é\\u00e9\\n\", \"b\" : true } ").unwrap();
        assert_eq!(read.as_str(), r#"{"a":"éé\n","b":true}"#);
    }

    #[test]
    fn numbers_keep_their_digits_in_plain_notation() {
        for (sent, kept) in [
            ("1", "1"),
            ("-0", "0"),
            ("-0.0", "0.0"),
            ("0e999999999999999999999", "0"),
            ("49.90", "49.90"),
            ("1e3", "1000"),
            ("1.50e1", "15.0"),
            ("0.05E+3", "50"),
            ("-12.5e-3", "-0.0125"),
            ("1e-7", "0.0000001"),
            ("10.0e-1", "1.00"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("0.0e2", "0"),
        ] {
            let text = format!("{{\"n\":{sent}}}");
            assert_eq!(read(&text).unwrap().as_str(), format!("{{\"n\":{kept}}}"), "{sent}");
        }
        assert!(read(r#"{"n":1e399}"#).is_ok());
        for sent in
            ["1e400", "1e400000", "-1e99999999999999999999", "1e-401", "1e-99999999999999999999"]
        {
            let refused = read(&format!("{{\"n\":[{sent}]}}"));
            assert_eq!(refused, Err(AttributesFault::NumberTooLong), "{sent}");
        }
    }

    #[test]
    fn each_bound_holds_to_the_last_one() {
        let keys = |count: usize| {
            let map: serde_json::Map<String, Value> =
                (0..count).map(|index| (format!("k{index}"), json!(index))).collect();
            Value::from(map).to_string()
        };
        assert!(read(&keys(KEYS_MAX)).is_ok());
        assert_eq!(read(&keys(KEYS_MAX + 1)), Err(AttributesFault::TooManyKeys(KEYS_MAX + 1)));
        let deep =
            |depth: usize| format!("{}{}", r#"{"a":"#.repeat(depth), "1") + &"}".repeat(depth);
        assert!(read(&deep(DEPTH_MAX)).is_ok());
        assert_eq!(read(&deep(DEPTH_MAX + 1)), Err(AttributesFault::TooDeep(DEPTH_MAX + 1)));
        let deepest = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(read(&deepest), Err(AttributesFault::TooDeep(10_001)));
        let long = |bytes: usize| format!("{{\"a\": \"{}\"}}", "x".repeat(bytes - 8));
        assert_eq!(read(&long(BYTES_MAX)).unwrap().as_str().len(), BYTES_MAX);
        assert_eq!(read(&long(BYTES_MAX + 1)), Err(AttributesFault::TooLong(BYTES_MAX + 1)));
    }

    #[test]
    fn values_that_cannot_be_stored_are_refused() {
        for (sent, fault) in [
            ("[]", AttributesFault::NotAnObject),
            ("7", AttributesFault::NotAnObject),
            (r#"{"a":"\u0000"}"#, AttributesFault::Nul),
            (r#"{"a\u0000":1}"#, AttributesFault::Nul),
            (r#"{"a":["\ud800"]}"#, AttributesFault::Unpaired),
            (r#"{"\udc00":1}"#, AttributesFault::Unpaired),
        ] {
            assert_eq!(read(sent), Err(fault), "{sent}");
        }
        assert!(read(r#"{"a":"\ud83d\ude00"}"#).is_ok());
    }

    #[test]
    fn printed_json_loses_its_spaces_and_no_others() {
        let printed = r#"{"a b": [1, 2], "c": "x \" : , y\\", "d": " "}"#;
        assert_eq!(compact(printed), r#"{"a b":[1,2],"c":"x \" : , y\\","d":" "}"#);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[^\0]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[^\0]{0,4}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn stored_text_equals_the_value_that_was_sent(map in prop::collection::btree_map("[^\0]{0,4}", any_json(), 0..5)) {
            let sent: Value = map.into_iter().collect::<serde_json::Map<_, _>>().into();
            let pretty = serde_json::to_string_pretty(&sent).unwrap();
            let kept = read(&pretty).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(kept.as_str()).unwrap(), sent);
        }

        #[test]
        fn a_number_keeps_its_value(whole in 0_u32.., fraction in "[0-9]{0,9}", exponent in -30_i32..30) {
            let point = if fraction.is_empty() { "" } else { "." };
            let sent = format!("{whole}{point}{fraction}e{exponent}");
            let mut kept = String::new();
            write_number(&sent, &mut kept).unwrap();
            let bits = |text: &str| text.parse::<f64>().unwrap().to_bits();
            prop_assert_eq!(bits(&kept), bits(&sent));
            prop_assert!(!kept.contains('e'));
        }
    }
}
