//! The accumulating reader, rule by rule.

use serde_json::json;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Channel {
    Email,
    Sms,
}

const CHANNELS: &[(&str, Channel)] = &[("email", Channel::Email), ("sms", Channel::Sms)];

#[derive(Debug, PartialEq)]
struct Variant {
    name: String,
    weight: i64,
}

impl FromFields for Variant {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            name: body.required("name").text(1..=10),
            weight: body.required("weight").integer(0..=100),
        }
    }
}

#[derive(Debug, PartialEq)]
struct Campaign {
    name: String,
    channel: Channel,
    description: Option<String>,
    email: Patch<String>,
    live: Option<bool>,
    rate: Option<f64>,
    at: Option<Timestamp>,
    variants: Vec<Variant>,
    first: Option<Variant>,
    tags: Option<Vec<String>>,
    attributes: Option<Map<String, Value>>,
    zone: Option<String>,
}

impl FromFields for Campaign {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let campaign = Self {
            name: body.required("name").text(1..=5),
            channel: body.required("channel").one_of(CHANNELS),
            description: body.optional("description").text(0..=3),
            email: body.patch("email").text(0..=20),
            live: body.optional("live").bool(),
            rate: body.optional("rate").number(0.0..=1.0),
            at: body.optional("at").timestamp(DayEdge::End),
            variants: body.required("variants").objects(1..=3),
            first: body.optional("first").object(),
            tags: body.optional("tags").one_or_list(0..=2, |tag| tag.text(1..=3)),
            attributes: body.optional("attributes").json_object(),
            zone: body.optional("zone").parsed(String::new(), |text| {
                if text == "UTC" { Ok(text.to_owned()) } else { Err("must be a time zone".into()) }
            }),
        };
        if campaign.live == Some(true) && campaign.at.is_none() {
            body.refuse("at", "is required when live");
        }
        campaign
    }
}

fn errors(value: &Value) -> Vec<String> {
    let problems = read::<Campaign>(value).expect_err("field errors");
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_valid_body_is_read_completely() {
    let value = json!({
        "name": "Hällo", "channel": "sms", "description": null, "email": null, "live": true, "rate": 0.5,
        "at": "2026-03-01", "variants": [{"name": "A", "weight": 100}], "first": {"name": "B", "weight": 0},
        "tags": "one", "attributes": {"a": {"b": [1]}}, "zone": "UTC", "unknown": {"ignored": true},
    });
    let campaign = read::<Campaign>(&value).unwrap();
    assert_eq!(campaign.channel, Channel::Sms);
    assert_eq!(campaign.description, None);
    assert_eq!(campaign.email, Patch::Null);
    assert_eq!(campaign.at.unwrap().to_string(), "2026-03-01T23:59:59.999Z");
    assert_eq!(campaign.variants, [Variant { name: "A".into(), weight: 100 }]);
    assert_eq!(campaign.tags, Some(vec!["one".to_owned()]));
    assert_eq!(campaign.attributes.unwrap()["a"], json!({"b": [1]}));
}

#[test]
fn every_failed_field_is_named_once_and_in_order() {
    let value = json!({
        "name": "", "channel": "fax", "description": "long", "email": 1, "live": "yes", "rate": 2, "at": "soon",
        "variants": [{"name": "A", "weight": 1}, {"name": 5, "weight": 101}, 7, null],
        "first": [], "tags": ["a", "long!", null], "attributes": {"a": "\u{0}"}, "zone": "Mars",
    });
    assert_eq!(
        errors(&value),
        [
            "name must be between 1 and 5 characters",
            "channel must be one of: email, sms",
            "description must be at most 3 characters",
            "email must be a string",
            "live must be a boolean",
            "rate must be between 0 and 1",
            "at must be an ISO 8601 date or date-time",
            "variants must have at most 3 elements, received 4",
            "first must be an object",
            "tags must have at most 2 elements, received 3",
            "attributes must not contain NUL characters",
            "zone must be a time zone",
        ]
    );
}

#[test]
fn paths_lead_into_lists_and_objects() {
    let value = json!({
        "name": "n", "channel": "email",
        "variants": [{"name": "A", "weight": 1}, {"weight": 101}, null],
        "first": {"name": "\u{0}"}, "tags": ["ok", ""],
    });
    assert_eq!(
        errors(&value),
        [
            "variants[1].name is required",
            "variants[1].weight must be between 0 and 100",
            "variants[2] is required",
            "first.name must not contain NUL characters",
            "first.weight is required",
            "tags[1] must be between 1 and 3 characters",
        ]
    );
}

#[test]
fn an_empty_object_misses_only_required_fields() {
    let expected = ["name is required", "channel is required", "variants is required"];
    assert_eq!(errors(&json!({})), expected);
    assert_eq!(errors(&json!({"name": null, "channel": null, "variants": null})), expected);
}

#[test]
fn a_rule_over_several_fields_is_reported_like_any_other() {
    let value = json!({"name": "n", "channel": "email", "variants": [{"name": "A", "weight": 1}], "live": true});
    assert_eq!(errors(&value), ["at is required when live"]);
}

#[test]
fn a_body_that_is_no_object_is_an_error() {
    for value in [json!(1), json!("x"), json!(null), json!([]), json!(true)] {
        assert_eq!(errors(&value), ["must be an object"], "{value}");
    }
}

#[test]
fn field_errors_are_bounded() {
    struct Numbers;
    impl FromFields for Numbers {
        fn from_fields(body: &mut Fields<'_>) -> Self {
            body.required("n").list(0..=usize::MAX, |item| item.integer(0..=1));
            Self
        }
    }
    let value = json!({"n": vec!["x"; FIELD_ERRORS_MAX * 3]});
    assert_eq!(read::<Numbers>(&value).err().unwrap().len(), FIELD_ERRORS_MAX);
}

#[test]
fn a_patch_distinguishes_absent_from_null() {
    assert_eq!(Patch::Absent.over(Some(1)), Some(1));
    assert_eq!(Patch::Null.over(Some(1)), None);
    assert_eq!(Patch::Value(2).over(Some(1)), Some(2));
    assert_eq!(Patch::Value(2).map(|n| n + 1), Patch::Value(3));
    assert!(Patch::<u8>::Null.is_sent() && !Patch::<u8>::Absent.is_sent());
}

#[test]
fn an_item_of_a_list_can_be_read_by_a_value_of_its_parent() {
    struct Scaled(Vec<i64>);
    impl FromFields for Scaled {
        fn from_fields(body: &mut Fields<'_>) -> Self {
            let max = body.required("max").integer(1..=100);
            let item = |item: Field<'_, Required>| {
                item.object_by(|fields| fields.required("n").integer(0..=max))
            };
            Self(body.required("items").list(0..=5, item))
        }
    }
    let good = read::<Scaled>(&json!({"max": 7, "items": [{"n": 7}, {"n": 0}]})).unwrap();
    assert_eq!(good.0, [7, 0]);
    let bad = read::<Scaled>(&json!({"max": 7, "items": [{"n": 8}, {}, 3]})).err().unwrap();
    let texts: Vec<String> = bad.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "items[0].n must be between 0 and 7",
            "items[1].n is required",
            "items[2] must be an object"
        ]
    );
}
