//! Mailgun's events as its documentation shows them, and their signature.

use hmac::{Hmac, Mac as _};
use kernel::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::Sha256;

use super::{callback::report, signature::SigningKey};
use crate::{
    callback::{
        Unproven,
        test_kit::{NOW_S, any_json, later, lines, now, reference, secret},
    },
    model::{Name, Report},
};

fn all(body: &Value) -> Vec<Report> {
    report(body).into_iter().collect()
}

#[test]
fn mailguns_signature_is_in_the_body() {
    let key = SigningKey::read(&secret("key-1")).unwrap();
    let mut hash = Hmac::<Sha256>::new_from_slice(b"key-1").unwrap();
    hash.update(format!("{NOW_S}token").as_bytes());
    let signature = hex::encode(hash.finalize().into_bytes());
    let body = |at: &str, token: &str, signature: &str| json!({"signature": {"timestamp": at, "token": token, "signature": signature}});
    let at = NOW_S.to_string();
    let good = body(&at, "token", &signature);
    assert_eq!(key.check(now(), &good), Ok(()));
    assert_eq!(key.check(later(301), &good), Err(Unproven::Stale));
    assert_eq!(key.check(now(), &body(&at, "other", &signature)), Err(Unproven::Wrong));
    assert_eq!(key.check(now(), &body(&at, "token", "zz")), Err(Unproven::Wrong));
    assert_eq!(key.check(now(), &json!({})), Err(Unproven::Missing));
    assert_eq!(key.check(now(), &json!([7])), Err(Unproven::Missing));
}

#[test]
fn mailgun_is_understood() {
    let event = |kind: &str, more: Value| {
        let mut event = json!({"event": kind, "id": "mg-1", "timestamp": 1_795_262_400.25,
            "recipient": "ann@example.test",
            "message": {"headers": {"message-id": format!("{}@example.test", reference())}}});
        for (field, value) in more.as_object().unwrap() {
            event[field] = value.clone();
        }
        json!({"event-data": event})
    };
    let [report] = &all(&event("delivered", json!({})))[..] else { panic!() };
    assert_eq!(report.names.first(), Some(&Name::Reference(reference())));
    assert_eq!(report.feedback.at.map(Timestamp::millis), Some(NOW_S * 1000 + 250));
    let failed = |severity: &str, reason: &str, code: Value| {
        let status = json!({"code": 550, "message": "no", "enhanced-code": code});
        event("failed", json!({"severity": severity, "reason": reason, "delivery-status": status}))
    };
    for (body, line) in [
        (event("delivered", json!({})), Some("delivered")),
        (
            failed("permanent", "bounce", json!("5.1.1")),
            Some("bounced hard 5.1.1 ann@example.test"),
        ),
        (
            failed("permanent", "bounce", json!("5.2.2")),
            Some("bounced soft 5.2.2 ann@example.test"),
        ),
        (failed("permanent", "bounce", Value::Null), Some("bounced hard 550 ann@example.test")),
        (
            failed("permanent", "suppress-bounce", Value::Null),
            Some("bounced hard 550 ann@example.test"),
        ),
        (failed("permanent", "suppress-unsubscribe", Value::Null), Some("unsubscribed")),
        (failed("permanent", "old", Value::Null), Some("bounced soft 550 ann@example.test")),
        (failed("temporary", "generic", json!("4.2.0")), Some("deferred 4.2.0")),
        (event("complained", json!({})), Some("complained abuse ann@example.test")),
        (event("unsubscribed", json!({})), Some("unsubscribed")),
        (event("opened", json!({})), None),
        (json!({}), None),
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
