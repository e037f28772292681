//! What Meta's callbacks are read as, and which of them are believed.

use kernel::{MessageId, WorkspaceId};
use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::model::{Effect, Reference};

fn notice_of(value: &Value) -> Notice {
    let body = json!({
        "object": "whatsapp_business_account",
        "entry": [{ "id": "1", "changes": [{ "field": "messages", "value": value }] }],
    });
    read(body.to_string().as_bytes()).unwrap()
}

#[test]
fn a_signature_holds_for_its_body_only() {
    // echo -n '{"a":1}' | openssl dgst -sha256 -hmac secret
    let right = "sha256=aa9e2e3575f5d7098b6caccd790888c36d5fdb63342a73bada2d6a51747a8494";
    assert!(is_signed("secret", br#"{"a":1}"#, right));
    assert!(!is_signed("secret", br#"{"a":2}"#, right));
    assert!(!is_signed("Secret", br#"{"a":1}"#, right));
    for bad in [
        "",
        "sha256=",
        "sha256=zz",
        right.trim_start_matches("sha256="),
        right.trim_end_matches('4'),
    ] {
        assert!(!is_signed("secret", br#"{"a":1}"#, bad), "{bad}");
    }
}

#[test]
fn meta_is_answered_only_when_it_shows_the_token() {
    let query = |mode: &str, token: &str| {
        [("hub.mode", mode), ("hub.verify_token", token), ("hub.challenge", "42")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    assert_eq!(challenge(&query("subscribe", "t"), "t"), Some("42"));
    assert_eq!(challenge(&query("subscribe", "u"), "t"), None);
    assert_eq!(challenge(&query("subscribe", ""), "t"), None);
    assert_eq!(challenge(&query("unsubscribe", "t"), "t"), None);
    assert_eq!(challenge(&[], "t"), None);
}

#[test]
fn a_status_says_what_happened_and_when() {
    let at = Some(Timestamp::from_millis(1_700_000_000_000));
    let reference = Reference {
        workspace: WorkspaceId::new(Uuid::from_u128(1)),
        message: MessageId::new(Uuid::from_u128(2)),
    };
    let failed = |code: &str, reason: &str, effect| Happened::Failed {
        code: code.to_owned(),
        reason: reason.to_owned(),
        effect,
    };
    for (status, errors, happened) in [
        ("sent", json!([]), Happened::Sent),
        ("delivered", json!([]), Happened::Delivered),
        ("read", json!([]), Happened::Read),
        ("failed", json!([]), failed("failed", "", None)),
        (
            "failed",
            json!([{ "code": 131_026, "title": "Message undeliverable" }]),
            failed("131026", "Message undeliverable", None),
        ),
        (
            "failed",
            json!([{ "code": 131_050, "title": "t", "message": "m", "error_data": { "details": "stopped\nmarketing" } }]),
            failed("131050", "stopped marketing", Some(Effect::Unsubscribed)),
        ),
    ] {
        let notice = notice_of(&json!({ "statuses": [
            { "id": "wamid.1", "status": status, "timestamp": "1700000000", "errors": errors,
              "biz_opaque_callback_data": reference.to_string() },
        ]}));
        let expected = Callback {
            provider_id: "wamid.1".to_owned(),
            reference: Some(reference),
            happened,
            at,
        };
        assert_eq!(notice.callbacks, [expected]);
    }
    let other =
        notice_of(&json!({ "statuses": [{ "id": "w", "status": "deleted", "timestamp": "x" }] }));
    assert_eq!(other, Notice::default());
}

#[test]
fn what_recipients_write_tap_and_choose_is_read() {
    let notice = notice_of(&json!({
        "metadata": { "display_phone_number": "+1 555 010-0000", "phone_number_id": "9" },
        "messages": [
            { "id": "a", "from": "4915100000001", "type": "text", "text": { "body": "Stop" } },
            { "id": "b", "from": "4915100000001", "type": "button", "button": { "text": "Yes", "payload": "p" } },
            { "id": "c", "from": "4915100000001", "type": "interactive",
              "interactive": { "type": "button_reply", "button_reply": { "id": "1", "title": "No" } } },
            { "id": "d", "from": "4915100000001", "type": "image", "image": { "id": "1" } },
        ],
        "user_preferences": [
            { "wa_id": "4915100000002", "category": "marketing_messages", "value": "stop", "timestamp": 1_700_000_000, "detail": "x" },
            { "wa_id": "4915100000002", "category": "marketing_messages", "value": "resume", "timestamp": 1_700_000_001, "detail": "x" },
            { "wa_id": "4915100000002", "category": "other", "value": "stop", "timestamp": 1, "detail": "x" },
        ],
    }));
    let read: Vec<_> = notice.inbound.iter().map(|i| (i.from.as_str(), i.text.as_str())).collect();
    let (ann, bob) = ("+4915100000001", "+4915100000002");
    assert_eq!(
        read,
        [(ann, "Stop"), (ann, "Yes"), (ann, "No"), (ann, ""), (bob, "STOP"), (bob, "START")]
    );
    assert!(notice.inbound.iter().all(|inbound| inbound.to == "+15550100000"));
    assert_ne!(notice.inbound[4].id, notice.inbound[5].id);
}

#[test]
fn what_is_not_of_the_shape_is_nothing() {
    for body in
        ["", "null", "[]", "{}", r#"{"entry":1}"#, r#"{"entry":[{"changes":[{"value":1}]}]}"#]
    {
        assert_eq!(read(body.as_bytes()), None, "{body}");
    }
    assert_eq!(read(br#"{"entry":[]}"#), Some(Notice::default()));
    assert_eq!(
        read(br#"{"entry":[{"changes":[{"field":"account_update"}]}]}"#),
        Some(Notice::default())
    );
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(body in proptest::collection::vec(any::<u8>(), 0..200), query in "\\PC*") {
        drop(read(&body));
        assert!(!is_signed("secret", &body, &query));
    }
}
