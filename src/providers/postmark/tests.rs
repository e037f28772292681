//! Postmark's records as its documentation shows them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::callback::report;
use crate::{
    callback::test_kit::{any_json, lines, reference},
    model::{Name, Report},
};

fn all(body: &Value) -> Vec<Report> {
    report(body).into_iter().collect()
}

#[test]
fn postmark_is_understood() {
    let record = |kind: &str, more: Value| {
        let mut record = json!({"RecordType": kind, "MessageID": "pm-1", "Email": "ann@example.test",
            "Metadata": {"message": reference().to_string()}, "ID": 4_323_372_036_854_775_807_i64});
        for (field, value) in more.as_object().unwrap() {
            record[field] = value.clone();
        }
        record
    };
    let [report] = &all(&record("Delivery", json!({})))[..] else { panic!() };
    assert_eq!(report.names, [Name::Reference(reference()), Name::Provider("pm-1".into())]);
    assert_eq!(report.feedback.event, "4323372036854775807");
    let gone = json!({"SuppressSending": true, "SuppressionReason": "ManualSuppression", "Origin": "Recipient"});
    for (body, line) in [
        (record("Delivery", json!({})), Some("delivered")),
        (
            record("Bounce", json!({"Type": "HardBounce"})),
            Some("bounced hard HardBounce ann@example.test"),
        ),
        (
            record("Bounce", json!({"Type": "SoftBounce"})),
            Some("bounced soft SoftBounce ann@example.test"),
        ),
        (record("Bounce", json!({"Type": "Transient"})), Some("deferred Transient")),
        (record("Bounce", json!({"Type": "AutoResponder"})), None),
        (record("Bounce", json!({"Type": "Unsubscribe"})), Some("unsubscribed")),
        (
            record("SpamComplaint", json!({"Type": "SpamComplaint"})),
            Some("complained SpamComplaint ann@example.test"),
        ),
        (record("SubscriptionChange", gone), Some("unsubscribed")),
        (
            record(
                "SubscriptionChange",
                json!({"SuppressSending": true, "SuppressionReason": "HardBounce"}),
            ),
            None,
        ),
        (record("Open", json!({})), None),
        (json!(null), None),
    ] {
        let lines = lines(&all(&body));
        assert_eq!(lines.first().map(String::as_str), line, "{body}");
    }
}

proptest! {
    #[test]
    fn any_json_is_read_without_panicking(body in any_json()) {
        drop(report(&body));
    }
}
