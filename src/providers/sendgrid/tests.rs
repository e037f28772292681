//! SendGrid's events as its documentation shows them, and their signature.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    callback::reports,
    signature::{Signed, SigningKey},
};
use crate::{
    callback::{
        Unproven,
        test_kit::{NOW_S, any_json, later, lines, now, reference},
    },
    model::Name,
};

#[test]
fn sendgrids_signature_is_of_its_own_key() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref()).unwrap();
    let mut der = hex::decode("3059301306072a8648ce3d020106082a8648ce3d030107034200").unwrap();
    der.extend_from_slice(pair.public_key().as_ref());
    let key = SigningKey::read(&STANDARD.encode(&der)).unwrap();
    let check = |now, timestamp: &str, signature: &str, body: &[u8]| {
        key.check(Signed { timestamp, signature }, now, body)
    };
    let at = NOW_S.to_string();
    let sign = |text: &str| STANDARD.encode(pair.sign(&random, text.as_bytes()).unwrap());
    let signature = sign(&format!("{at}[]"));
    assert_eq!(check(now(), &at, &signature, b"[]"), Ok(()));
    assert_eq!(check(later(300), &at, &signature, b"[]"), Ok(()));
    assert_eq!(check(later(301), &at, &signature, b"[]"), Err(Unproven::Stale));
    assert_eq!(check(now(), &at, &signature, b"[ ]"), Err(Unproven::Wrong));
    assert_eq!(check(now(), "1", &signature, b"[]"), Err(Unproven::Wrong));
    assert_eq!(check(now(), &at, "AAAA", b"[]"), Err(Unproven::Wrong));
    assert_eq!(check(now(), &at, "", b"[]"), Err(Unproven::Missing));
    for refused in ["", "x", "AAAA", &STANDARD.encode(&der[..90])] {
        assert!(SigningKey::read(refused).is_err(), "{refused}");
    }
}

#[test]
fn sendgrid_is_understood() {
    let event = |kind: &str, more: Value| {
        let mut event = json!({"event": kind, "email": "ann@example.test", "timestamp": NOW_S,
            "smtp-id": format!("<{}@example.test>", reference()), "sg_event_id": "e1",
            "sg_message_id": "14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0"});
        for (field, value) in more.as_object().unwrap() {
            event[field] = value.clone();
        }
        event
    };
    let named = json!([event("delivered", json!({}))]);
    let [report] = &reports(&named)[..] else { panic!() };
    assert_eq!(report.names, [Name::Reference(reference()), Name::Provider("14c5d75ce93".into())]);
    assert_eq!(report.feedback.at, Some(now()));
    let all = json!([
        event("processed", json!({})),
        event("deferred", json!({"response": "400 4.2.1 try again later"})),
        event(
            "bounce",
            json!({"type": "bounce", "status": "5.1.1", "reason": "500 unknown recipient"})
        ),
        event("bounce", json!({"type": "bounce", "reason": "550 no such user"})),
        event("bounce", json!({"type": "blocked", "status": "5.1.1"})),
        event("bounce", json!({"type": "bounce", "status": "5.7.1"})),
        event("dropped", json!({"reason": "Bounced Address"})),
        event("dropped", json!({"reason": "Spam Reporting Address"})),
        event("dropped", json!({"reason": "Unsubscribed Address"})),
        event("dropped", json!({"reason": "Recipient List over Package Quota"})),
        event("spamreport", json!({})),
        event("unsubscribe", json!({})),
        event("group_unsubscribe", json!({})),
        event("open", json!({})),
        7,
    ]);
    assert_eq!(
        lines(&reports(&all)),
        [
            "deferred 4.2.1",
            "bounced hard 5.1.1 ann@example.test",
            "bounced hard 5.0.0 ann@example.test",
            "bounced soft 5.1.1 ann@example.test",
            "bounced soft 5.7.1 ann@example.test",
            "bounced hard dropped ann@example.test",
            "complained dropped ann@example.test",
            "unsubscribed",
            "failed dropped",
            "complained abuse ann@example.test",
            "unsubscribed",
            "unsubscribed",
        ]
    );
}

proptest! {
    #[test]
    fn any_json_is_read_without_panicking(body in any_json()) {
        drop(reports(&body));
    }
}
