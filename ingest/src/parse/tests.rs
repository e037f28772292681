//! The tape means what serde_json means, and accepts nothing that is not JSON.

use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Number, Value};
use simd_json::{Node, StaticNode};

use super::*;

/// The value a tape holds.
fn value(nodes: &[Node<'_>]) -> Value {
    match nodes[0] {
        Node::String(text) => text.into(),
        Node::Object { .. } => Value::Object(
            members(nodes)
                .map(|(key, member)| (key.to_owned(), value(member)))
                .collect::<Map<_, _>>(),
        ),
        Node::Array { .. } => elements(nodes).map(value).collect(),
        Node::Static(StaticNode::I64(integer)) => integer.into(),
        Node::Static(StaticNode::U64(integer)) => integer.into(),
        Node::Static(StaticNode::F64(double)) => Value::Number(Number::from_f64(double).unwrap()),
        Node::Static(StaticNode::Bool(truth)) => truth.into(),
        Node::Static(StaticNode::Null) => Value::Null,
    }
}

fn parse(text: &str) -> Option<Value> {
    Parser::default().parse(text.as_bytes(), value)
}

/// Whether serde_json takes `text`, without looking into the meaning of numbers and escapes.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn json() -> impl Strategy<Value = Value> {
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
    fn json_means_the_same_compact_and_pretty(values in vec(json(), 1..4)) {
        let mut parser = Parser::default();
        for sent in &values {
            for text in [sent.to_string(), serde_json::to_string_pretty(sent).unwrap()] {
                prop_assert_eq!(parser.parse(text.as_bytes(), value), Some(sent.clone()));
            }
        }
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
        prop_assert!(parse(&text).is_none() || is_json(&text), "{}", text);
        prop_assert_eq!(pieces::value(&text).is_ok(), is_json(&text), "{}", text);
    }

    #[test]
    fn token_soup_is_accepted_only_when_it_is_json(
        text in "([\\[\\]{},:]|\"[a\\\\\"u0]{0,3}\"|-?[0-9]{1,3}(\\.[0-9]?)?([eE][+-]?[0-9]?)?|true|fals|null| ){0,9}",
    ) {
        prop_assert!(parse(&text).is_none() || is_json(&text), "{}", text);
        prop_assert_eq!(pieces::value(&text).is_ok(), is_json(&text), "{}", text);
    }

    #[test]
    fn a_number_has_the_value_the_standard_library_gives_it(
        text in "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
    ) {
        let found = Parser::default().parse(text.as_bytes(), |nodes| match nodes[0] {
            Node::Static(node) => number(node).unwrap(),
            _ => panic!("{nodes:?}"),
        });
        let expected: f64 = text.parse().unwrap();
        let is_integer = !text.contains(['.', 'e', 'E']);
        let fits = if is_integer {
            text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
        } else {
            expected.is_finite()
        };
        prop_assert_eq!(found, fits.then_some(expected), "{}", text);
    }

    #[test]
    fn a_string_survives_being_written_and_read(text in "[^\\x00]{0,40}") {
        let mut written = String::new();
        let is_plain = write_json_string(&mut written, &text);
        prop_assert_eq!(is_plain, written.len() == text.len() + 2);
        prop_assert_eq!(&written, &serde_json::to_string(&text).unwrap());
        prop_assert_eq!(parse(&written), Some(Value::from(text)));
    }

    #[test]
    fn escapes_decode_as_serde_json_decodes_them(
        text in "\"([a-zé😀 ]|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4}|\\\\u[dD][89abAB][0-9a-f]{2}\\\\u[dD][c-fC-F][0-9a-f]{2}|\\\\ud8[0-9]{2}){0,12}\"",
    ) {
        prop_assert_eq!(parse(&text), serde_json::from_str(&text).ok());
    }
}

#[test]
fn nesting_is_held_to_its_limit_and_costs_no_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(NESTING_MAX)).is_some());
    assert!(parse(&nested(NESTING_MAX + 1)).is_none());
    assert!(parse(&nested(1_000_000)).is_none());
    let objects = format!("{}0{}", "{\"a\":".repeat(1_000_000), "}".repeat(1_000_000));
    assert!(parse(&objects).is_none());
    assert_eq!(pieces::value(&objects).unwrap(), objects);
    assert!(pieces::value(objects.strip_prefix("{").unwrap()).is_err());
}

#[test]
fn pieces_are_texts_of_the_body() {
    let mut found = Vec::new();
    pieces::elements(r#" [ 1e400 , "\ud800",[[ ]], {"a":1} ] "#, |text| found.push(text)).unwrap();
    assert_eq!(found, ["1e400", r#""\ud800""#, "[[ ]]", r#"{"a":1}"#]);
    let mut found = Vec::new();
    pieces::members(r#"{"a" : 1 ,"\udc00":{"b":[]}}"#, |key, text| found.push((key, text)))
        .unwrap();
    assert_eq!(found, [(r#""a""#, "1"), (r#""\udc00""#, r#"{"b":[]}"#)]);
    for broken in ["[1,]", "[1]]", "[1", "{}", "[1 2]"] {
        pieces::elements(broken, |_| {}).unwrap_err();
    }
}
