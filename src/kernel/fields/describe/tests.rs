//! The schema describes what the reader accepts.

use proptest::prelude::*;
use serde_json::json;
use utoipa::PartialSchema as _;

use super::*;
use crate::{Channel, DayEdge, fields::read, schema::text_of};

const WORDS: &[(&str, u8)] = &[("one", 1), ("two", 2)];

words_schema!(
    /// A number
    /// in words.
    Number = WORDS
);

#[derive(Debug)]
struct Inner;

impl FromFields for Inner {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        body.required("name").text(1..=10);
        body.optional("inner").list(0..=2, |item| {
            item.object::<Self>();
        });
        Self
    }
}

#[derive(Debug)]
struct Outer;

impl FromFields for Outer {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        body.required("text").about("Some text.").text(2..=5);
        body.optional("long").text(0..=usize::MAX);
        body.patch("count").integer(-1..=7);
        body.optional("any").integer(i64::MIN..=i64::MAX);
        body.required("share").number(0.0..=1.5);
        body.optional("flag").needed().bool();
        body.optional("word").one_of(WORDS);
        body.optional("number").about("In words.").as_type::<Number>().one_of(WORDS);
        body.required("at").timestamp(DayEdge::Start);
        let parsed = body.optional("parsed").as_schema(|| text_of(1..=3).into());
        parsed.parsed((), |text| if text.len() <= 3 { Ok(()) } else { Err("is long".into()) });
        body.required("list").list(1..=2, |item| item.text(0..=4));
        body.optional("channels")
            .one_or_list(1..=5, |it| it.as_type::<Channel>().one_of(Channel::NAMED));
        body.optional("inner").object::<Inner>();
        body.optional("free").json_object();
        // Read once more for a rule that spans several fields.
        body.optional("text").text(0..=1);
        if body.is_clean() {
            body.refuse("text", "no description has errors");
        }
        Self
    }
}

described!(
    /// All rules
    /// there are.
    Outer as "Everything"
);

fn schema() -> Value {
    serde_json::to_value(Outer::schema()).unwrap()
}

#[test]
fn every_rule_describes_its_limits() {
    let schema = schema();
    assert_eq!(schema["description"], "All rules\nthere are.");
    assert_eq!(schema["required"], json!(["text", "share", "flag", "at", "list"]));
    let fields = &schema["properties"];
    assert_eq!(
        fields["text"],
        json!({"type": "string", "minLength": 2, "maxLength": 5, "description": "Some text."})
    );
    assert_eq!(fields["long"], json!({"type": ["string", "null"]}));
    let count =
        json!({"type": ["integer", "null"], "format": "int32", "minimum": -1, "maximum": 7});
    assert_eq!(fields["count"], count);
    assert_eq!(fields["any"], json!({"type": ["integer", "null"], "format": "int64"}));
    let share = json!({"type": "number", "format": "double", "minimum": 0, "maximum": 1.5});
    assert_eq!(fields["share"], share);
    assert_eq!(fields["flag"], json!({"type": "boolean"}));
    assert_eq!(fields["word"], json!({"type": ["string", "null"], "enum": ["one", "two", null]}));
    assert_eq!(
        fields["number"]["oneOf"][0],
        json!({"$ref": "#/components/schemas/Number", "description": "In words."})
    );
    assert_eq!(fields["at"]["$ref"], "#/components/schemas/Moment");
    assert_eq!(fields["parsed"]["maxLength"], 3);
    let list = json!({"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "maxLength": 4}});
    assert_eq!(fields["list"], list);
    let channel = json!({"$ref": "#/components/schemas/Channel"});
    assert_eq!(fields["channels"]["oneOf"][0]["oneOf"][0], channel);
    assert_eq!(fields["channels"]["oneOf"][0]["oneOf"][1]["maxItems"], 5);
    assert_eq!(fields["inner"]["properties"]["name"]["maxLength"], 10);
    assert_eq!(fields["free"]["type"], json!(["object", "null"]));
}

#[test]
fn names_that_are_referred_to_are_collected() {
    let mut names: Vec<String> =
        describe::<Outer>().components.into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(names, ["Channel", "Moment", "Number"]);
    let number = serde_json::to_value(Number::schema()).unwrap();
    let expected =
        json!({"type": "string", "enum": ["one", "two"], "description": "A number\nin words."});
    assert_eq!(number, expected);
}

#[test]
fn a_reader_is_described_by_what_a_field_makes_of_it() {
    let by_kind = |fields: &mut Fields<'_>| match fields.required("kind").one_of(WORDS) {
        1 => drop(fields.required("a").bool()),
        _ => drop(fields.required("b").bool()),
    };
    let ways = ["one", "two"].map(|kind| {
        let given = Map::from_iter([("kind".to_owned(), json!(kind))]);
        describe_by(&given, by_kind)
    });
    let both = serde_json::to_value(either(ways).schema).unwrap();
    assert_eq!(both["required"], json!(["kind"]));
    let names: Vec<&String> = both["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "b", "kind"]);
}

#[test]
fn a_described_reader_reads_as_ever() {
    let wrong = read::<Outer>(&json!({"text": 1})).expect_err("field errors");
    let texts: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(texts[..3], ["text must be a string", "share is required", "at is required"]);
}

#[derive(Debug, Clone)]
struct Bounds {
    chars: RangeInclusive<usize>,
    len: RangeInclusive<usize>,
    whole: RangeInclusive<i64>,
}

fn bounds() -> impl Strategy<Value = Bounds> {
    (0_usize..4, 0_usize..4, 0_usize..4, 0_usize..4, -5_i64..5, 0_i64..5).prop_map(
        |(chars, more_chars, len, more_len, whole, more)| Bounds {
            chars: chars..=chars + more_chars,
            len: len..=len + more_len,
            whole: whole..=whole + more,
        },
    )
}

proptest! {
    #[test]
    fn what_the_schema_accepts_the_reader_accepts(
        bounds in bounds(), text in "[aä]{0,8}", items in 0_usize..9, whole in -7_i64..12,
    ) {
        let take = |fields: &mut Fields<'_>| {
            fields.required("text").text(bounds.chars.clone());
            fields.required("list").list(bounds.len.clone(), |item| item.text(0..=4));
            fields.required("whole").integer(bounds.whole.clone());
        };
        let schema = serde_json::to_value(describe_by(&Map::new(), take).schema).unwrap();
        let schema = jsonschema::validator_for(&schema).unwrap();
        let body = json!({"text": text, "list": vec!["a"; items], "whole": whole});
        let is_read = crate::fields::read_object_by(body.as_object().unwrap(), take).is_ok();
        prop_assert_eq!(schema.is_valid(&body), is_read, "{}", body);
    }
}
