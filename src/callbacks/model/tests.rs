//! Each provider's own form, as its documentation shows it, and each way to prove who calls.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac as _};
use kernel::{MessageId, WorkspaceId};
use proptest::prelude::*;
use providers::model::{AddressClaim, FeedbackKind};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use secrecy::SecretString;
use serde_json::json;
use sha2::Sha256;

use super::*;

const NOW_S: i64 = 1_795_262_400;
const TOPIC: &str = "arn:aws:sns:eu-central-1:123456789012:bounces";
const SNS_CERTIFICATE: &[u8] = include_bytes!("../../tests/callbacks/fixtures/sns.pem");
/// The key of that certificate, which proves nothing to anybody but these tests.
const SNS_KEY: &[u8] = include_bytes!("../../tests/callbacks/fixtures/sns_key.der");
/// Signed by `openssl dgst -sha1`, as Amazon does where nobody asked for more.
const SNS_VERSION_1: &[u8] = include_bytes!("../../tests/callbacks/fixtures/sns_v1.json");

fn now() -> Timestamp {
    Timestamp::from_millis(NOW_S * 1000)
}

fn later(seconds: i64) -> Timestamp {
    Timestamp::from_millis((NOW_S + seconds) * 1000)
}

fn reference() -> Reference {
    let uuid = uuid::Uuid::from_u128;
    Reference { workspace: WorkspaceId::new(uuid(1)), message: MessageId::new(uuid(2)) }
}

fn secret(text: &str) -> SecretString {
    text.to_owned().into()
}

#[test]
fn a_standard_signature_holds_for_its_call_within_five_minutes() {
    // The example of the Standard Webhooks' and Svix' documentation.
    let key = Secret::read(&secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
    let (id, at, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#);
    let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    let then = Timestamp::from_millis(1_614_265_330_000);
    assert_eq!(standard(&key, then, (id, at, signature), body), Ok(()));
    let two = format!("v1,AAAA {signature} v2,x");
    assert_eq!(standard(&key, then, (id, at, &two), body), Ok(()), "secrets are changed in turn");
    let wrong = |parts, body: &[u8]| standard(&key, then, parts, body).unwrap_err();
    assert_eq!(wrong((id, at, signature), b"{}"), Unproven::Wrong);
    assert_eq!(wrong(("msg_2", at, signature), body), Unproven::Wrong);
    assert_eq!(wrong((id, "1614265331", signature), body), Unproven::Wrong);
    assert_eq!(wrong((id, at, "v1,"), body), Unproven::Wrong);
    assert_eq!(wrong((id, at, signature.trim_start_matches("v1,")), body), Unproven::Wrong);
    for missing in [("", at, signature), (id, "", signature), (id, at, "")] {
        assert_eq!(wrong(missing, body), Unproven::Missing);
    }
    let at_ms = |ms| standard(&key, Timestamp::from_millis(ms), (id, at, signature), body);
    assert_eq!(at_ms(1_614_265_330_000 + 300_000), Ok(()));
    assert_eq!(at_ms(1_614_265_330_000 - 300_000), Ok(()), "clocks differ");
    assert_eq!(at_ms(1_614_265_330_000 + 300_001), Err(Unproven::Stale));
    assert_eq!(at_ms(1_614_265_330_000 - 300_001), Err(Unproven::Stale));
    for refused in ["", "whsec_", "whsec_not base64"] {
        assert!(Secret::read(&secret(refused)).is_err(), "{refused}");
    }
    assert!(Secret::read(&secret("any other text")).is_ok());
}

#[test]
fn sendgrids_signature_is_of_its_own_key() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let mut der = hex::decode("3059301306072a8648ce3d020106082a8648ce3d030107034200").unwrap();
    der.extend_from_slice(pair.public_key().as_ref());
    let key = SigningKey::read(&STANDARD.encode(&der)).unwrap();
    let at = NOW_S.to_string();
    let sign = |text: &str| STANDARD.encode(pair.sign(&random, text.as_bytes()).unwrap());
    let signature = sign(&format!("{at}[]"));
    assert_eq!(key.proves(now(), (&at, &signature), b"[]"), Ok(()));
    assert_eq!(key.proves(later(300), (&at, &signature), b"[]"), Ok(()));
    assert_eq!(key.proves(later(301), (&at, &signature), b"[]"), Err(Unproven::Stale));
    assert_eq!(key.proves(now(), (&at, &signature), b"[ ]"), Err(Unproven::Wrong));
    assert_eq!(key.proves(now(), ("1", &signature), b"[]"), Err(Unproven::Wrong));
    assert_eq!(key.proves(now(), (&at, "AAAA"), b"[]"), Err(Unproven::Wrong));
    assert_eq!(key.proves(now(), (&at, ""), b"[]"), Err(Unproven::Missing));
    for refused in ["", "x", "AAAA", &STANDARD.encode(&der[..90])] {
        assert!(SigningKey::read(refused).is_err(), "{refused}");
    }
}

#[test]
fn a_name_and_a_password_are_both_compared() {
    let basic = Basic::new("postmark", &secret("pass:word"));
    let header = |text: &str| format!("Basic {}", STANDARD.encode(text));
    assert_eq!(basic.proves(&header("postmark:pass:word")), Ok(()));
    assert_eq!(basic.proves(&header("postmark:password")), Err(Unproven::Wrong));
    assert_eq!(basic.proves(&header("Postmark:pass:word")), Err(Unproven::Wrong));
    assert_eq!(basic.proves("Basic ?"), Err(Unproven::Wrong));
    assert_eq!(basic.proves("Bearer x"), Err(Unproven::Missing));
    assert_eq!(basic.proves(""), Err(Unproven::Missing));
}

#[test]
fn mailguns_signature_is_in_the_body() {
    let key = Mailgun::read(&secret("key-1")).unwrap();
    let mut hash = Hmac::<Sha256>::new_from_slice(b"key-1").unwrap();
    hash.update(format!("{NOW_S}token").as_bytes());
    let signature = hex::encode(hash.finalize().into_bytes());
    let body = |at: &str, token: &str, signature: &str| json!({"signature": {"timestamp": at, "token": token, "signature": signature}});
    let at = NOW_S.to_string();
    let good = body(&at, "token", &signature);
    assert_eq!(key.proves(now(), &good), Ok(()));
    assert_eq!(key.proves(later(301), &good), Err(Unproven::Stale));
    assert_eq!(key.proves(now(), &body(&at, "other", &signature)), Err(Unproven::Wrong));
    assert_eq!(key.proves(now(), &body(&at, "token", "zz")), Err(Unproven::Wrong));
    assert_eq!(key.proves(now(), &json!({})), Err(Unproven::Missing));
    assert_eq!(key.proves(now(), &json!([7])), Err(Unproven::Missing));
}

/// An envelope signed as Amazon does.
fn envelope(kind: &str, change: impl Fn(&mut Value)) -> Vec<u8> {
    let url = "https://sns.eu-central-1.amazonaws.com";
    let mut body = json!({
        "Type": kind, "MessageId": "m-1", "TopicArn": TOPIC, "Message": "{}",
        "Timestamp": "2026-11-21T12:00:00.000Z", "SignatureVersion": "2",
        "SigningCertURL": format!("{url}/SimpleNotificationService-1.pem"),
    });
    let mut fields = vec!["Message", "MessageId", "Timestamp", "TopicArn", "Type"];
    if kind != "Notification" {
        body["Token"] = json!("t");
        body["SubscribeURL"] = json!(format!("{url}/?Action=ConfirmSubscription"));
        fields =
            vec!["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
    }
    change(&mut body);
    let mut signed = String::new();
    for field in fields {
        signed.extend([field, "\n", body[field].as_str().unwrap(), "\n"]);
    }
    let pair = RsaKeyPair::from_pkcs8(SNS_KEY).unwrap();
    let mut signature = vec![0; pair.public().modulus_len()];
    let random = SystemRandom::new();
    pair.sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature).unwrap();
    body["Signature"] = json!(STANDARD.encode(signature));
    serde_json::to_vec(&body).unwrap()
}

#[test]
fn an_envelope_is_believed_for_its_topic_within_an_hour() {
    let certificate = Certificate::read(SNS_CERTIFICATE).unwrap();
    let topics = [TOPIC.to_owned()];
    let proven = |bytes: &[u8], now| {
        Unsigned::read(bytes).unwrap().proven(&certificate, &topics, now).map(|e| e.kind())
    };
    // 2026-11-21T12:00:00Z
    let sent = Timestamp::from_millis(1_795_262_400_000);
    let good = envelope("Notification", |_| {});
    assert_eq!(proven(&good, sent), Ok(Kind::Notification));
    assert_eq!(proven(SNS_VERSION_1, sent), Ok(Kind::Notification));
    let after = |ms| Timestamp::from_millis(sent.millis() + ms);
    assert_eq!(proven(&good, after(3_600_000)), Ok(Kind::Notification));
    assert_eq!(proven(&good, after(3_600_001)), Err(Unproven::Stale));
    let foreign =
        envelope("Notification", |body| body["TopicArn"] = json!("arn:aws:sns:x:1:theirs"));
    assert_eq!(proven(&foreign, sent), Err(Unproven::Wrong), "Amazon signs everybody's");
    let changed = |field: &str, value: &str| {
        let mut body: Value = serde_json::from_slice(&good).unwrap();
        body[field] = json!(value);
        serde_json::to_vec(&body).unwrap()
    };
    for (field, value) in [
        ("Message", "{} "),
        ("MessageId", "m-2"),
        ("Signature", "AAAA"),
        ("Signature", "?"),
        ("SignatureVersion", "1"),
        ("SignatureVersion", "3"),
        ("Type", "Other"),
        ("Type", "SubscriptionConfirmation"),
        ("Subject", "new"),
    ] {
        assert_eq!(proven(&changed(field, value), sent), Err(Unproven::Wrong), "{field}");
    }
    assert_eq!(proven(&changed("Signature", ""), sent), Err(Unproven::Missing));
    let confirmation = proven(&envelope("SubscriptionConfirmation", |_| {}), sent).unwrap();
    assert!(matches!(confirmation, Kind::SubscriptionConfirmation(_)));
    let elsewhere = envelope("SubscriptionConfirmation", |body| {
        body["SubscribeURL"] = json!("https://example.test/?Action=ConfirmSubscription");
    });
    assert_eq!(proven(&elsewhere, sent), Ok(Kind::Other), "nobody sends us elsewhere");
    assert!(Unsigned::read(b"{}").is_err());
}

#[test]
fn certificates_come_from_amazon_alone() {
    let url = |text: &str| {
        let body = envelope("Notification", |body| body["SigningCertURL"] = json!(text));
        Unsigned::read(&body).unwrap().certificate_url().is_some()
    };
    for good in [
        "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem",
        "https://sns.cn-north-1.amazonaws.com.cn/x.pem",
    ] {
        assert!(url(good), "{good}");
    }
    for bad in [
        "http://sns.eu-central-1.amazonaws.com/x.pem",
        "https://sns.eu-central-1.amazonaws.com.evil.test/x.pem",
        "https://evil.test/sns.eu-central-1.amazonaws.com/x.pem",
        "https://sns.evil.test?.amazonaws.com/x.pem",
        "https://sns.a.b.amazonaws.com/x.pem",
        "https://s3.amazonaws.com/x.pem",
        "https://user@sns.eu-central-1.amazonaws.com/x.pem",
        "https://sns.eu-central-1.amazonaws.com:8443/x.pem",
        "https://sns.eu-central-1.amazonaws.com/x",
        "",
    ] {
        assert!(!url(bad), "{bad}");
    }
    for bad in [&b""[..], b"x", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(Certificate::read(bad).is_err());
    }
}

/// What one report says, in a line: kind, code, whose.
fn said(report: &Report) -> String {
    let (code, _, label) = report.feedback.heard.words();
    let whose = match &report.feedback.heard {
        FeedbackKind::Bounced { whose: AddressClaim::Named(address), .. }
        | FeedbackKind::Complained { whose: AddressClaim::Named(address), .. } => address.as_str(),
        _ => "",
    };
    let line = format!("{} {label} {code} {whose}", report.feedback.heard.kind().as_str());
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lines(dialect: Dialect, body: &Value) -> Vec<String> {
    dialect.reports(body, "e1").iter().map(said).collect()
}

#[test]
fn ses_is_understood() {
    let mail = json!({"messageId": "ses-1", "timestamp": "2026-11-21T12:00:00.000Z", "headers": [
        {"name": "From", "value": "x"}, {"name": "X-Message-Id", "value": reference().to_string()}]});
    let bounce = |kind: &str, subtype: &str, status: &str, words: &str| {
        json!({"notificationType": "Bounce", "mail": mail, "bounce": {
            "bounceType": kind, "bounceSubType": subtype, "feedbackId": "f1",
            "timestamp": "2026-11-21T12:00:01.000Z",
            "bouncedRecipients": [{"emailAddress": "Ann <ann@example.test>", "status": status, "diagnosticCode": words}]}})
    };
    let hard = bounce("Permanent", "General", "5.1.1", "smtp; 550 5.1.1 user unknown");
    let [report] = &Dialect::Ses.reports(&hard, "")[..] else { panic!() };
    assert_eq!(report.names, [Name::Reference(reference()), Name::Provider("ses-1".into())]);
    assert_eq!((report.feedback.event.as_str(), report.feedback.source), ("f1", "ses"));
    assert_eq!(report.feedback.at.map(Timestamp::millis), Some(1_795_262_401_000));
    for (body, line) in [
        (hard, "bounced hard 5.1.1 ann@example.test"),
        (bounce("Permanent", "Suppressed", "", ""), "bounced hard Suppressed ann@example.test"),
        (bounce("Permanent", "General", "5.2.2", ""), "bounced soft 5.2.2 ann@example.test"),
        (bounce("Transient", "General", "5.1.1", ""), "bounced soft 5.1.1 ann@example.test"),
        (
            bounce("Undetermined", "Undetermined", "", ""),
            "bounced soft Undetermined ann@example.test",
        ),
        (
            json!({"eventType": "Complaint", "mail": mail, "complaint": {
                "complainedRecipients": [{"emailAddress": "ann@example.test"}], "feedbackId": "f",
                "complaintFeedbackType": "abuse", "userAgent": "Yahoo!-Mail-Feedback/2.0"}}),
            "complained abuse ann@example.test",
        ),
        (json!({"eventType": "Delivery", "mail": mail, "delivery": {}}), "delivered"),
        (
            json!({"eventType": "DeliveryDelay", "mail": mail, "deliveryDelay": {
                "delayedRecipients": [{"emailAddress": "ann@example.test", "status": "4.4.1"}]}}),
            "deferred 4.4.1",
        ),
        (
            json!({"eventType": "Reject", "mail": mail, "reject": {"reason": "Bad content"}}),
            "failed rejected",
        ),
        (
            json!({"eventType": "Subscription", "mail": mail, "subscription": {
                "newTopicPreferences": {"unsubscribeAll": true}}}),
            "unsubscribed",
        ),
    ] {
        assert_eq!(lines(Dialect::Ses, &body), [line], "{body}");
    }
    for silent in [json!({"eventType": "Open", "mail": mail}), json!({}), json!(null)] {
        assert!(lines(Dialect::Ses, &silent).is_empty(), "{silent}");
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
    let [report] = &Dialect::Sendgrid.reports(&named, "")[..] else { panic!() };
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
        lines(Dialect::Sendgrid, &all),
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
    let [report] = &Dialect::Postmark.reports(&record("Delivery", json!({})), "")[..] else {
        panic!()
    };
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
        let lines = lines(Dialect::Postmark, &body);
        assert_eq!(lines.first().map(String::as_str), line, "{body}");
    }
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
    let [report] = &Dialect::Mailgun.reports(&event("delivered", json!({})), "")[..] else {
        panic!()
    };
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
        let lines = lines(Dialect::Mailgun, &body);
        assert_eq!(lines.first().map(String::as_str), line, "{body}");
    }
}

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
    let [report] = &Dialect::Resend.reports(&event("email.delivered", json!({})), "msg_1")[..]
    else {
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
        let lines = lines(Dialect::Resend, &body);
        assert_eq!(lines.first().map(String::as_str), line, "{body}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,9}".prop_map(Value::from),
    ];
    let names = prop::sample::select(vec![
        "event",
        "type",
        "data",
        "bounce",
        "mail",
        "event-data",
        "timestamp",
        "Metadata",
        "to",
        "bouncedRecipients",
        "RecordType",
        "headers",
        "message",
        "notificationType",
        "status",
    ]);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(names.clone(), inner, 0..4)
                .prop_map(|map| map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_is_too_strange(body in any_json()) {
        for dialect in [
            Dialect::Ses, Dialect::Sendgrid, Dialect::Postmark, Dialect::Mailgun, Dialect::Resend,
        ] {
            drop(dialect.reports(&body, "e"));
        }
        drop(Generic::read(&body));
    }

    #[test]
    fn no_address_that_is_not_amazons_is_asked(text in "\\PC{0,40}") {
        let body = json!({"Type": "Notification", "MessageId": "m", "TopicArn": "t", "Message": "",
            "Timestamp": "", "SigningCertURL": text});
        let envelope = Unsigned::read(&serde_json::to_vec(&body).unwrap()).unwrap();
        prop_assert_eq!(envelope.certificate_url(), None);
    }
}
