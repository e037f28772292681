//! Lists of variants at their limits.

use kernel::fields::read_object_by;
use serde_json::json;

use super::*;

fn read(channel: CampaignChannel, variants: &Value) -> Result<Vec<Variant>, Vec<String>> {
    let body = json!({"variants": variants});
    read_object_by(body.as_object().unwrap(), |body| list(body, channel))
        .map_err(|complaints| complaints.iter().map(ToString::to_string).collect())
}

fn some(count: usize) -> Value {
    (0..count).map(|n| json!({"id": n.to_string(), "name": "n", "weight": 10})).collect()
}

#[test]
fn variants_round_trip() {
    let email = json!([
        {"id": "a", "name": "A", "weight": 33.4, "message": {"subject": "Hi"}, "isControlGroup": false},
        {"id": "b", "name": "B", "weight": 66, "message": {}},
        {"id": "c", "name": "C", "weight": 0, "isControlGroup": true},
    ]);
    let in_app = json!([{"id": "a", "name": "A", "weight": 100, "customContent": {"title": "Hi"}}]);
    for (channel, sent) in [(CampaignChannel::Email, email), (CampaignChannel::InApp, in_app)] {
        let read = read(channel, &sent).unwrap();
        let mut shown = serde_json::to_value(&read).unwrap();
        assert_eq!(shown, sent);
        keep_shapes(&mut shown, channel);
        assert_eq!(serde_json::from_value::<Vec<Variant>>(shown).unwrap(), read);
    }
}

#[test]
fn there_are_one_to_eight_except_inside_an_app() {
    use CampaignChannel::{AiOptimized, Email, InApp};
    for channel in [Email, AiOptimized, InApp] {
        assert!(read(channel, &some(8)).is_ok());
        assert_eq!(
            read(channel, &some(9)).unwrap_err(),
            ["variants must have at most 8 elements, received 9"]
        );
    }
    assert_eq!(read(Email, &json!([])).unwrap_err(), ["variants must not be empty"]);
    assert_eq!(read(Email, &json!(null)).unwrap_err(), ["variants is required"]);
    for none in [json!([]), json!(null)] {
        assert_eq!(read(InApp, &none), Ok(vec![]));
    }
}

#[test]
fn each_has_an_id_a_name_and_a_weight() {
    let read = |variant: Value| read(CampaignChannel::Sms, &json!([some(1)[0], variant]));
    let good = json!({"id": "a", "name": "n", "weight": 0});
    let but = |field: &str, value: Value| {
        let mut variant = good.clone();
        variant[field] = value;
        variant
    };
    assert!(read(good.clone()).is_ok());
    for (field, value, problem) in [
        ("id", json!(null), "is required"),
        ("id", json!(""), "must not be empty"),
        ("id", json!("x".repeat(65)), "must be at most 64 characters"),
        ("id", json!("a\nb"), "must be one line without control characters"),
        ("id", json!("0"), "must be unlike those of the other variants"),
        ("name", json!(null), "is required"),
        ("name", json!("ä".repeat(256)), "must be between 1 and 255 characters"),
        ("weight", json!(null), "is required"),
        ("weight", json!(-0.01), "must be between 0 and 100"),
        ("weight", json!(100.01), "must be between 0 and 100"),
        ("weight", json!("50"), "must be a number"),
        ("isControlGroup", json!("no"), "must be a boolean"),
        ("message", json!("Hi"), "must be an object"),
        ("customContent", json!({"title": "Hi"}), "is for the channel in_app alone"),
    ] {
        assert_eq!(
            read(but(field, value.clone())).unwrap_err(),
            [format!("variants[1].{field} {problem}")],
            "{value}"
        );
    }
    for (field, value) in [
        ("id", json!("x".repeat(64))),
        ("name", json!("ä".repeat(255))),
        ("weight", json!(100)),
        ("customContent", json!({})),
        ("message", json!(null)),
    ] {
        assert!(read(but(field, value)).is_ok(), "{field}");
    }
    assert_eq!(read(json!("a")).unwrap_err(), ["variants[1] must be an object"]);
}

#[test]
fn one_is_the_control_group_at_most() {
    let mut variants = some(3);
    variants[0]["isControlGroup"] = json!(true);
    assert!(read(CampaignChannel::Email, &variants).is_ok());
    variants[2]["isControlGroup"] = json!(true);
    assert_eq!(
        read(CampaignChannel::Email, &variants).unwrap_err(),
        ["variants[2].isControlGroup must be true for one variant at most"]
    );
}

#[test]
fn a_message_is_not_shown_inside_an_app() {
    let mut variants = some(1);
    variants[0]["message"] = json!({"subject": "Hi"});
    assert_eq!(
        read(CampaignChannel::InApp, &variants).unwrap_err(),
        ["variants[0].message is not for the channel in_app: its content is customContent"]
    );
    variants[0]["message"] = json!({});
    assert!(read(CampaignChannel::InApp, &variants).is_ok());
}

#[test]
fn every_error_of_every_variant_is_reported_with_its_path() {
    let variants = json!([
        {"id": "a", "name": "", "weight": 101, "message": {"subject": "{{", "shortenLinks": 1}},
        {"id": "a", "name": "b", "weight": 1, "message": {"text": 5}},
    ]);
    let complaints = read(CampaignChannel::Email, &variants).unwrap_err();
    let places: Vec<&str> =
        complaints.iter().map(|complaint| complaint.split(' ').next().unwrap()).collect();
    assert_eq!(
        places,
        [
            "variants[0].name",
            "variants[0].weight",
            "variants[0].message.subject",
            "variants[1].message.text",
            "variants[1].id",
        ]
    );
}
