//! Resend's events as its documentation shows them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::callback::reports;
use crate::{
    callback::test_kit::{any_json, lines, now, reference},
    model::Name,
};

#[test]
fn resend_is_understood() {
    let event = |kind: &str, more: Value| {
        let mut event = json!({"type": kind, "created_at": "2026-11-21T12:00:00.000Z", "data": {
            "email_id": "re-1", "to": ["ann@example.test"],
            "headers": [{"name": "X-Message-Id", "value": reference().to_string()}]}});
        for (field, value) in more.as_object().unwrap() {
            event["data"][field] = value.clone();
        }
        event
    };
    let [report] = &reports(&event("email.delivered", json!({})), "msg_1")[..] else {
        panic!();
    };
    assert_eq!(report.names, [Name::Reference(reference()), Name::Provider("re-1".into())]);
    assert_eq!((report.feedback.event.as_str(), report.feedback.at), ("msg_1", Some(now())));
    let bounce =
        |kind: &str| json!({"bounce": {"type": kind, "subType": "General", "message": "gone"}});
    for (body, line) in [
        (event("email.delivered", json!({})), Some("delivered")),
        (event("email.delivery_delayed", json!({})), Some("deferred")),
        (
            event("email.bounced", bounce("Permanent")),
            Some("bounced hard General ann@example.test"),
        ),
        (
            event("email.bounced", bounce("Transient")),
            Some("bounced soft General ann@example.test"),
        ),
        (event("email.complained", json!({})), Some("complained abuse ann@example.test")),
        (event("email.failed", json!({})), Some("failed failed")),
        (event("email.sent", json!({})), None),
        (json!([]), None),
    ] {
        let lines = lines(&reports(&body, "e1"));
        assert_eq!(lines.first().map(String::as_str), line, "{body}");
    }
}

proptest! {
    #[test]
    fn any_json_is_read_without_panicking(body in any_json()) {
        drop(reports(&body, "e"));
    }
}
