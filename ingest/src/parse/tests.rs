//! The scanner accepts exactly what serde_json accepts, and means the same by it.

use proptest::{collection::vec, prelude::*};

use super::*;

/// Whether the scanner takes `text` as one JSON value.
fn accepts(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.skip(&mut Nesting::default()).and_then(|()| scanner.end()).is_ok()
}

/// Whether serde_json does, without looking into the meaning of numbers and escapes.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((".{0,6}", inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_is_accepted_compact_and_pretty(value in json()) {
        prop_assert!(accepts(&value.to_string()));
        prop_assert!(accepts(&serde_json::to_string_pretty(&value).unwrap()));
    }

    #[test]
    fn damaged_json_is_accepted_only_when_it_still_is_json(
        value in json(),
        edits in vec((any::<prop::sample::Index>(), "[\\]\\[{}\",:0-9eE.+\\\\ntfu \t-]"), 1..4),
    ) {
        let mut text: Vec<char> = value.to_string().chars().collect();
        for (index, replacement) in edits {
            let index = index.index(text.len());
            text[index] = replacement.chars().next().unwrap();
        }
        let text: String = text.into_iter().collect();
        prop_assert_eq!(accepts(&text), is_json(&text), "{}", text);
    }

    #[test]
    fn token_soup_is_accepted_only_when_it_is_json(
        text in "([\\[\\]{},:]|\"[a\\\\\"u0]{0,3}\"|-?[0-9]{1,3}(\\.[0-9]?)?([eE][+-]?[0-9]?)?|true|fals|null| ){0,9}",
    ) {
        prop_assert_eq!(accepts(&text), is_json(&text), "{}", text);
    }

    #[test]
    fn a_number_has_the_value_the_standard_library_gives_it(
        text in "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
    ) {
        let number = Scanner::new(&text).number().unwrap();
        let expected: f64 = text.parse().unwrap();
        prop_assert_eq!(number.value.to_bits(), expected.to_bits(), "{}", text);
        let is_integer = !text.contains(['.', 'e', 'E']);
        let fits = if is_integer {
            text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
        } else {
            expected.is_finite()
        };
        prop_assert_eq!(number.is_portable, fits, "{}", text);
    }

    #[test]
    fn a_string_survives_being_written_and_read(text in "[^\\x00]{0,40}") {
        let mut written = String::new();
        write_json_string(&mut written, &text);
        prop_assert_eq!(&serde_json::from_str::<String>(&written).unwrap(), &text);
        prop_assert_eq!(&written, &serde_json::to_string(&text).unwrap());
        let read = Scanner::new(&written).string().unwrap();
        prop_assert_eq!(read.decode().unwrap(), text);
    }

    #[test]
    fn escapes_decode_as_serde_json_decodes_them(
        text in "\"([a-zé😀 ]|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4}|\\\\u[dD][89abAB][0-9a-f]{2}\\\\u[dD][c-fC-F][0-9a-f]{2}|\\\\ud8[0-9]{2}){0,12}\"",
    ) {
        let decoded = Scanner::new(&text).string().unwrap().decode();
        match serde_json::from_str::<String>(&text) {
            Ok(expected) if expected.contains('\0') => prop_assert_eq!(decoded, Err(TextFault::Nul)),
            Ok(expected) => prop_assert_eq!(decoded.unwrap(), expected),
            Err(_) => prop_assert!(decoded.is_err()),
        }
    }
}

#[test]
fn any_depth_is_stepped_over_without_recursion() {
    let depth = 1_000_000;
    let mut text = "[{\"a\":".repeat(depth);
    text.push('0');
    text.push_str(&"}]".repeat(depth));
    assert!(accepts(&text));
    text.pop();
    assert!(!accepts(&text));
}

#[test]
fn an_error_says_what_and_where() {
    let cases = [
        ("", "expected a value at byte 0"),
        ("[1,]", "expected a value at byte 3"),
        ("{\"a\" 1}", "expected a colon at byte 5"),
        ("{\"a\":1,}", "expected a key in quotes at byte 7"),
        ("[1 2]", "expected a comma or ] at byte 3"),
        ("{\"a\":1]", "expected a comma or } at byte 6"),
        ("\"abc", "expected a closing quote at byte 4"),
        ("\"a\nb\"", "expected no raw control character in a string at byte 2"),
        ("\"\\x\"", "expected a known escape at byte 2"),
        ("\"\\u12g4\"", "expected four hexadecimal digits at byte 5"),
        ("-", "expected a digit at byte 1"),
        ("1.", "expected a digit at byte 2"),
        ("nul", "expected a value at byte 0"),
        ("01", "expected the end of the body at byte 1"),
        ("1 1", "expected the end of the body at byte 2"),
    ];
    for (text, expected) in cases {
        let mut scanner = Scanner::new(text);
        let error =
            scanner.skip(&mut Nesting::default()).and_then(|()| scanner.end()).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}
