//! Every field of every channel, with the texts of refusals.

use kernel::fields::read_object_by;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(channel: CampaignChannel, message: &Value) -> Result<Message, Vec<String>> {
    let map = message.as_object().unwrap();
    read_object_by(map, |body| Message::read(body, channel))
        .map_err(|complaints| complaints.iter().map(ToString::to_string).collect())
}

fn accepted(channel: CampaignChannel, message: &Value) -> Message {
    read(channel, message).unwrap()
}

/// The only error of a message.
fn refusal(channel: CampaignChannel, message: &Value) -> String {
    match read(channel, message) {
        Err(complaints) if complaints.len() == 1 => complaints.concat(),
        other => panic!("{message}: {other:?}"),
    }
}

/// A message of every channel with every field.
fn whole() -> Vec<(CampaignChannel, Value)> {
    vec![
        (
            CampaignChannel::Email,
            json!({"subject": "Hi {{ user.name | default: 'you' }}", "preheader": "p", "from": "A <a@b.test>",
                "fromName": "Shop", "html": "<p>{{ x }}</p>", "templateId": "t-1", "text": "x"}),
        ),
        (CampaignChannel::Sms, json!({"body": "Hi", "from": "+49151", "shortenLinks": true})),
        (
            CampaignChannel::Viber,
            json!({"templateId": "t", "variables": {"a": "{{ x }}", "n": 5}, "body": "b"}),
        ),
        (
            CampaignChannel::Push,
            json!({"title": "t", "body": "b", "icon": "ic_bell", "image": "https://x.test/a.png",
                "data": {"k": "{{ v }}", "deep": {"n": [1, null, true]}}}),
        ),
        (
            CampaignChannel::Whatsapp,
            json!({"messageType": "template", "templateId": "t", "wabaId": "1",
                "variableMapping": {"1": "{{ user.name }}"}, "replyText": "r"}),
        ),
        (
            CampaignChannel::Webhook,
            json!({"url": "https://x.test/{{ user.id }}", "method": "PUT", "headers": {"X-A": "{{ b }}"},
                "body": {"a": ["{{ x }}"]}, "auth": {"type": "basic", "username": "u"},
                "bodyType": "json"}),
        ),
    ]
}

#[test]
fn messages_round_trip() {
    for (channel, sent) in whole() {
        let read = read(channel, &sent).unwrap();
        let shown = serde_json::to_value(&read).unwrap();
        assert_eq!(shown, sent);
        let mut kept = shown.as_object().unwrap().clone();
        assert!(serde_json::from_value::<Message>(shown.clone()).is_err(), "no shape, no message");
        keep_shape(&mut kept, channel);
        assert_eq!(serde_json::from_value::<Message>(Value::Object(kept)).unwrap(), read);
    }
}

#[test]
fn an_empty_message_is_a_draft() {
    for (channel, _) in whole() {
        let read = read(channel, &json!({})).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), json!({}));
    }
    let email = json!({"subject": "", "from": "", "html": "", "text": ""});
    assert!(read(CampaignChannel::Email, &email).is_ok());
    assert!(read(CampaignChannel::Webhook, &json!({"url": ""})).is_ok());
}

#[test]
fn every_text_is_bounded_at_its_limit() {
    use CampaignChannel::{Email, Push, Sms, Viber, Webhook, Whatsapp};
    for (channel, field, max) in [
        (Email, "subject", 998),
        (Email, "preheader", 500),
        (Email, "fromName", 255),
        (Email, "templateId", 255),
        (Sms, "body", 5_000),
        (Sms, "from", 64),
        (Viber, "templateId", 255),
        (Viber, "body", 5_000),
        (Push, "title", 1_000),
        (Push, "body", 4_000),
        (Push, "icon", 2_048),
        (Whatsapp, "templateId", 512),
        (Whatsapp, "wabaId", 64),
        (Whatsapp, "replyText", 4_096),
    ] {
        assert!(read(channel, &json!({field: "ä".repeat(max)})).is_ok(), "{field}");
        let over = refusal(channel, &json!({field: "ä".repeat(max + 1)}));
        assert_eq!(over, format!("{field} must be at most {max} characters"));
        let of_another_type = refusal(channel, &json!({field: 5}));
        assert_eq!(of_another_type, format!("{field} must be a string"));
        let nul = refusal(channel, &json!({field: "a\0"}));
        assert_eq!(nul, format!("{field} must not contain NUL characters"));
    }
    for field in ["html", "text"] {
        assert!(read(Email, &json!({field: "x".repeat(262_144)})).is_ok());
        let over = refusal(Email, &json!({field: "x".repeat(262_145)}));
        assert_eq!(over, format!("{field} must be at most 262144 bytes, received 262145"));
    }
    let url = |chars: usize| format!("https://x.test/{}", "a".repeat(chars - 15));
    for (channel, field) in [(Webhook, "url"), (Push, "image")] {
        assert!(read(channel, &json!({field: url(2_048)})).is_ok());
        let over = refusal(channel, &json!({field: url(2_049)}));
        assert_eq!(over, format!("{field} must be at most 2048 characters"));
    }
}

#[test]
fn free_json_is_bounded_in_bytes_and_depth() {
    use CampaignChannel::{Push, Viber, Webhook, Whatsapp};
    for (channel, field, max) in [
        (Viber, "variables", 16_384),
        (Push, "data", 4_096),
        (Whatsapp, "variableMapping", 16_384),
        (Webhook, "body", 65_536),
    ] {
        let filled = |bytes: usize| json!({field: {"a": "x".repeat(bytes - 8)}});
        assert!(read(channel, &filled(max)).is_ok(), "{field}");
        let over = refusal(channel, &filled(max + 1));
        assert_eq!(over, format!("{field} must be at most {max} bytes, received {}", max + 1));
        let nested = |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({"a": inner}));
        assert!(read(channel, &json!({field: nested(8)})).is_ok());
        let deep = refusal(channel, &json!({field: nested(9)}));
        assert_eq!(deep, format!("{field} must not be nested deeper than 8"));
        let bad = refusal(channel, &json!({field: {"a": [1, "x\n {{ y"]}}));
        assert!(
            bad.starts_with(&format!("{field} is not valid Liquid: "))
                && bad.ends_with("(line 2, column 5) (at /a/1)"),
            "{bad}"
        );
        assert!(refusal(channel, &json!({field: 5})).starts_with(field));
    }
    let text = refusal(Webhook, &json!({"body": "{% if %}"}));
    assert!(text.starts_with("body is not valid Liquid: ") && text.contains("line 1, column"));
}

#[test]
fn liquid_errors_have_a_line_and_a_column_in_every_template() {
    for (channel, sent) in whole() {
        for (field, value) in sent.as_object().unwrap() {
            let is_template = value.is_string()
                && !matches!(
                    field.as_str(),
                    "templateId" | "wabaId" | "messageType" | "method" | "bodyType"
                );
            if !is_template {
                continue;
            }
            let text = if matches!(field.as_str(), "url" | "image") {
                "https://x.test/{{ a | nope }}"
            } else {
                "ä {{ a | nope }}"
            };
            let column = text.chars().position(|c| c == '|').unwrap() + 3;
            let place = format!("Unknown filter: nope (line 1, column {column})");
            assert_eq!(
                refusal(channel, &json!({field: text})),
                format!("{field} is not valid Liquid: {place}")
            );
        }
    }
}

#[test]
fn headers_of_messages_are_one_line() {
    use CampaignChannel::{Email, Push, Sms, Webhook};
    for (channel, field, good) in [
        (Email, "subject", "Hi"),
        (Email, "fromName", "Shop"),
        (Email, "from", "a@b.test"),
        (Email, "templateId", "t"),
        (Sms, "from", "Shop"),
        (Push, "icon", "ic"),
        (Webhook, "url", "https://x.test/"),
    ] {
        assert!(read(channel, &json!({field: good})).is_ok(), "{field}");
        for end in ["\r\nBcc: x@y.test", "\n", "\r", "\u{85}", "\u{2028}", "\u{1b}"] {
            let text = format!("{good}{end}");
            assert_eq!(
                refusal(channel, &json!({field: text})),
                format!("{field} must be one line without control characters")
            );
        }
    }
}

#[test]
fn a_webhook_has_a_web_address() {
    let url = |url: &str| read(CampaignChannel::Webhook, &json!({"url": url}));
    for good in [
        "https://x.test",
        "HTTP://x.test:8080/a?b={{ user.id }}#c",
        "https://{{ event.properties.host }}/a",
        "http://127.0.0.1/",
    ] {
        assert!(url(good).is_ok(), "{good}");
    }
    for bad in [
        "x.test",
        "//x.test",
        "ftp://x.test",
        "file:///etc/passwd",
        "javascript:alert(1)//https://x",
        "{{ url }}",
        "https://",
        "gopher://x.test/https://y",
        " https://x.test",
        "unix:///https://a",
    ] {
        assert_eq!(url(bad).unwrap_err(), ["url must be an http:// or https:// URL"], "{bad}");
    }
}

#[test]
fn reserved_headers_of_a_webhook_are_refused() {
    let headers = |headers: Value| read(CampaignChannel::Webhook, &json!({"headers": headers}));
    assert!(
        headers(json!({"Content-Type": "text/plain", "X-Key": "{{ user.key }}", "Accept": ""}))
            .is_ok()
    );
    for (sent, problem) in [
        (json!({"Host": "x"}), "headers.Host must not be set: the transport sets it"),
        (
            json!({"content-LENGTH": "5"}),
            "headers.content-LENGTH must not be set: the transport sets it",
        ),
        (
            json!({"Transfer-Encoding": "chunked"}),
            "headers.Transfer-Encoding must not be set: the transport sets it",
        ),
        (json!({"Connection": "x"}), "headers.Connection must not be set: the transport sets it"),
        (
            json!({"webhook-signature": "x"}),
            "headers.webhook-signature must not be set: it signs the request",
        ),
        (json!({"X A": "b"}), "headers.X A must be a header's name"),
        (json!({"": "b"}), "headers. must be a header's name"),
        (json!({"Ä": "b"}), "headers.Ä must be a header's name"),
        (json!({"X-A\r\nHost": "b"}), "headers.X-AHost must be a header's name"),
        (json!({"X-A": "b\r\nHost: c"}), "headers.X-A must be one line without control characters"),
        (json!({"X-A": 5}), "headers.X-A must be a string"),
        (json!({"X-A": "a", "x-a": "b"}), "headers.x-a must not be sent in two spellings"),
        (json!(["X-A"]), "headers must be an object"),
    ] {
        assert_eq!(headers(sent.clone()).unwrap_err(), [problem], "{sent}");
    }
    let many =
        |count: usize| Value::Object((0..count).map(|n| (format!("x-{n}"), json!("a"))).collect());
    assert!(headers(many(50)).is_ok());
    assert_eq!(headers(many(51)).unwrap_err(), ["headers must have at most 50 headers"]);
    assert!(headers(json!({"a".repeat(100): "b".repeat(4_096)})).is_ok());
    assert!(headers(json!({"a".repeat(101): "b"})).is_err());
    assert!(headers(json!({"a": "b".repeat(4_097)})).is_err());
}

#[test]
fn enumerations_of_a_webhook_are_checked() {
    use CampaignChannel::Webhook;
    for (sent, problem) in [
        (json!({"method": "get"}), "method must be one of: GET, POST, PUT, PATCH, DELETE"),
        (json!({"bodyType": "xml"}), "bodyType must be one of: json, form, text"),
        (json!({"body": 5}), "body must be a string, an object or an array"),
        (json!({"auth": {}}), "auth.type is required"),
        (
            json!({"auth": {"type": "oauth"}}),
            "auth.type must be one of: none, basic, bearer, header",
        ),
        (
            json!({"auth": {"type": "basic", "username": "a:b"}}),
            "auth.username must not contain a colon",
        ),
        (
            json!({"auth": {"type": "header", "name": "Host"}}),
            "auth.name must not be set: the transport sets it",
        ),
        (
            json!({"auth": {"type": "bearer", "token": "a\r\nb"}}),
            "auth.token must be one line without control characters",
        ),
        (
            json!({"auth": {"type": "bearer", "token": "x".repeat(4_097)}}),
            "auth.token must be at most 4096 characters",
        ),
        (
            json!({"auth": {"type": "bearer"}, "headers": {"authorization": "x"}}),
            "auth must not be given beside the header Authorization",
        ),
    ] {
        assert_eq!(refusal(Webhook, &sent), problem);
    }
    assert!(
        read(Webhook, &json!({"auth": {"type": "none"}, "headers": {"Authorization": "x"}}))
            .is_ok()
    );
    assert!(read(Webhook, &json!({"auth": {"type": "header", "name": "Authorization"}})).is_ok());
}

#[test]
fn a_message_of_an_ai_campaign_names_its_channel() {
    use CampaignChannel::AiOptimized;
    for (channel, message) in whole() {
        let mut sent = message.clone();
        sent["channel"] = json!(channel);
        let chosen = read(AiOptimized, &sent).unwrap();
        assert_eq!(serde_json::to_value(&chosen).unwrap(), sent);
        assert_eq!(json!(chosen.content.channel()), json!(channel));
        let mut kept = sent.as_object().unwrap().clone();
        keep_shape(&mut kept, AiOptimized);
        assert_eq!(serde_json::from_value::<Message>(Value::Object(kept)).unwrap(), chosen);
    }
    let email = read(AiOptimized, &json!({"subject": "Hi"})).unwrap();
    assert_eq!((email.channel, email.content.channel()), (None, MessageChannel::Email));
    let mut kept = Map::from_iter([("subject".to_owned(), json!("Hi"))]);
    keep_shape(&mut kept, AiOptimized);
    assert_eq!(serde_json::from_value::<Message>(Value::Object(kept)).unwrap(), email);
    for message in [json!({"body": "Hi"}), json!({"channel": null, "subject": null})] {
        assert_eq!(
            refusal(AiOptimized, &message),
            "channel is required, unless the message is an email"
        );
    }
    assert!(
        refusal(AiOptimized, &json!({"channel": "in_app"})).starts_with("channel must be one of")
    );
    // In other campaigns it is an unknown field.
    let sms = read(CampaignChannel::Sms, &json!({"channel": "email", "body": "x"})).unwrap();
    assert_eq!((sms.channel, sms.content.channel()), (None, MessageChannel::Sms));
}

#[test]
fn unknown_fields_are_returned_in_ai_campaigns() {
    use CampaignChannel::{AiOptimized, Email};
    let sent = json!({"channel": "push", "title": "Hi", "subject": "{{ not accepted", "x": {"deep": [1, null]},
        "url": "https://x.test", "weight": 0.5});
    let found = read(AiOptimized, &sent).unwrap();
    assert_eq!(serde_json::to_value(&found).unwrap(), sent);
    let mut kept = sent.as_object().unwrap().clone();
    keep_shape(&mut kept, AiOptimized);
    assert_eq!(serde_json::from_value::<Message>(Value::Object(kept)).unwrap(), found);
    // In other campaigns unknown fields are dropped.
    let email = read(Email, &json!({"subject": "Hi", "x": 1})).unwrap();
    assert_eq!(serde_json::to_value(email).unwrap(), json!({"subject": "Hi"}));

    // {"x":"…"} is eight bytes around the text.
    let long = |bytes: usize| json!({"subject": "Hi", "x": "a".repeat(bytes - 8)});
    assert!(read(AiOptimized, &long(16 << 10)).is_ok());
    let over = read(AiOptimized, &long((16 << 10) + 1)).unwrap_err().concat();
    assert!(over.ends_with("must be at most 16384 bytes, received 16385"), "{over}");
    let deep = |levels: usize| {
        let nested = (1..levels).fold(json!([]), |inner, _| json!([inner]));
        read(AiOptimized, &json!({"subject": "Hi", "x": nested}))
    };
    assert!(deep(8).is_ok());
    let over = deep(9).unwrap_err().concat();
    assert!(over.ends_with("must not be nested deeper than 8"), "{over}");
    for (name, value, problem) in [
        ("@channel", "a", "@channel must not begin with @"),
        ("x", "a\0", "x must not contain NUL characters"),
    ] {
        assert_eq!(refusal(AiOptimized, &json!({"subject": "Hi", name: value})), problem);
    }
}

#[test]
fn every_field_of_a_channel_is_known_as_one() {
    for (channel, message) in whole() {
        let channel = MessageChannel::of(channel).unwrap();
        let mut sent: Vec<&str> = message.as_object().unwrap().keys().map(String::as_str).collect();
        let mut known = channel.fields().to_vec();
        sent.sort_unstable();
        known.sort_unstable();
        assert_eq!(sent, known);
    }
}

#[test]
fn oversized_html_is_refused() {
    let html = |html: String| read(CampaignChannel::Email, &json!({"html": html}));
    assert!(html("<div>".repeat(200)).is_ok());
    assert_eq!(
        html("<div>".repeat(201)).unwrap_err(),
        ["html must not nest elements deeper than 200"]
    );
    let attributes = format!("<p {}>", "a ".repeat(201));
    assert_eq!(
        html(attributes).unwrap_err(),
        ["html must not have an element with more than 200 attributes"]
    );
}

#[test]
fn secrets_are_not_written_into_logs() {
    let sent = json!({"auth": {"type": "bearer", "token": "hush-hush"}});
    let read = read(CampaignChannel::Webhook, &sent).unwrap();
    assert!(!format!("{read:?}").contains("hush"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[\\PC\0\r\n{}%|<>]{0,24}".prop_map(Value::from),
        prop::sample::select(vec![
            "email",
            "basic",
            "https://{{ a }}",
            "{{",
            "\u{feff}",
            "a <b@c.de>"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z-]{0,6}|type|token|name", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_values_of_any_fields_are_parsed_or_refused(
        at in 0_usize..7,
        values in prop::collection::vec(any_json(), 8),
    ) {
        let (channel, message) = whole().get(at).cloned().unwrap_or_else(|| {
            (CampaignChannel::AiOptimized, json!({"channel": 0, "body": 0, "auth": 0, "subject": 0}))
        });
        let keys = message.as_object().unwrap().keys().cloned();
        let sent: Map<String, Value> = keys.zip(values).collect();
        if let Ok(read) = read(channel, &Value::Object(sent)) {
            // An accepted message would be accepted again, so a stored one can be edited.
            let shown = serde_json::to_value(&read).unwrap();
            let mut kept = shown.as_object().unwrap().clone();
            prop_assert_eq!(accepted(channel, &shown), read.clone());
            keep_shape(&mut kept, channel);
            prop_assert_eq!(serde_json::from_value::<Message>(Value::Object(kept)).unwrap(), read);
        }
    }
}
