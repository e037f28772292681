//! SES' notifications as Amazon's documentation shows them, and their envelopes.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kernel::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    callback::reports,
    sns::{Certificate, Kind, Unsigned},
};
use crate::{
    callback::{
        Unproven,
        test_kit::{any_json, lines, reference},
    },
    model::Name,
};

const TOPIC: &str = "arn:aws:sns:eu-central-1:123456789012:bounces";
const SNS_CERTIFICATE: &[u8] = include_bytes!("../../tests/callbacks/fixtures/sns.pem");
/// The key of that certificate, which only these tests trust.
const SNS_KEY: &[u8] = include_bytes!("../../tests/callbacks/fixtures/sns_key.der");
/// Signed by `openssl dgst -sha1`, Amazon's default.
const SNS_VERSION_1: &[u8] = include_bytes!("../../tests/callbacks/fixtures/sns_v1.json");

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
    let mut signature = vec![0; pair.public_modulus_len()];
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
    assert_eq!(proven(&elsewhere, sent), Ok(Kind::Other), "no other host is called");
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
    let [report] = &reports(&hard)[..] else { panic!() };
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
        assert_eq!(lines(&reports(&body)), [line], "{body}");
    }
    for silent in [json!({"eventType": "Open", "mail": mail}), json!({}), json!(null)] {
        assert!(lines(&reports(&silent)).is_empty(), "{silent}");
    }
}

proptest! {
    #[test]
    fn any_json_is_read_without_panicking(body in any_json()) {
        drop(reports(&body));
    }

    #[test]
    fn no_address_that_is_not_amazons_is_asked(text in "\\PC{0,40}") {
        let body = json!({"Type": "Notification", "MessageId": "m", "TopicArn": "t", "Message": "",
            "Timestamp": "", "SigningCertURL": text});
        let envelope = Unsigned::read(&serde_json::to_vec(&body).unwrap()).unwrap();
        prop_assert_eq!(envelope.certificate_url(), None);
    }
}
