//! WhatsApp messages by Meta's Cloud API.

use std::{sync::Arc, time::Duration};

use campaigns::model::message::MessageChannel;
use providers::{
    Provider,
    model::{Content, Effect, Outcome, Reference, WhatsappContent},
};
use serde_json::{Value, json};

use super::{
    TIMEOUT_SECONDS, message, provider_of, send,
    simulator::{Reply, Seen, Simulator},
};

/// Answers as Meta does, by the recipient.
fn meta(request: &Seen) -> Reply {
    let refusal = |status: u16, code: u32, details: &str| {
        let data = json!({ "messaging_product": "whatsapp", "details": details });
        let error = json!({ "message": format!("(#{code})"), "code": code, "error_data": data });
        Reply::json(status, &json!({ "error": error }))
    };
    if request.header("authorization") != Some("Bearer token") {
        return refusal(401, 190, "Access token has expired");
    }
    let body = request.json();
    let is_whole = request.method == "POST"
        && ["/v23.0/77/messages", "/v23.0/88/messages"].contains(&request.path.as_str())
        && request.header("content-type") == Some("application/json")
        && body["messaging_product"] == "whatsapp"
        && body["recipient_type"] == "individual"
        && body["biz_opaque_callback_data"].is_string();
    let says = match body["type"].as_str() {
        Some("template") => {
            body["template"]["name"].is_string() && body["template"]["language"]["code"].is_string()
        }
        Some("text") => body["text"]["body"].as_str().is_some_and(|text| !text.is_empty()),
        _ => false,
    };
    if !is_whole || !says {
        return refusal(400, 100, "Invalid parameter");
    }
    match body["to"].as_str().unwrap_or_default() {
        "1" => refusal(400, 131_026, "Message undeliverable"),
        "2" => refusal(400, 131_047, "More than 24 hours have passed"),
        "3" => refusal(400, 131_050, "Recipient stopped marketing messages"),
        "4" => refusal(400, 130_429, "Rate limit hit"),
        "5" => refusal(400, 131_056, "Pair rate limit hit"),
        "6" => refusal(500, 131_000, "Something went wrong"),
        "7" => refusal(429, 4, "Too many calls").with("retry-after", "60"),
        "8" => Reply::text(502, "<html>Bad\r\nGateway</html>"),
        "9" => refusal(404, 132_001, "Template name does not exist"),
        "0" => Reply::never(),
        to => Reply::json(
            200,
            &json!({
                "messaging_product": "whatsapp",
                "contacts": [{ "input": to, "wa_id": to }],
                "messages": [{ "id": format!("wamid.{to}"), "message_status": "accepted" }],
            }),
        ),
    }
}

fn provider_at(url: &str, token: &str) -> Arc<dyn Provider> {
    let variables = [
        ("MILLRACE_CHANNELS__WHATSAPP__PROVIDER", "whatsapp"),
        ("MILLRACE_CHANNELS__WHATSAPP__URL", url),
        ("MILLRACE_CHANNELS__WHATSAPP__PHONE_NUMBER_ID", "77"),
        ("MILLRACE_CHANNELS__WHATSAPP__ACCESS_TOKEN", token),
        ("MILLRACE_CHANNELS__WHATSAPP__TIMEOUT_SECONDS", TIMEOUT_SECONDS),
    ];
    provider_of(&variables, MessageChannel::Whatsapp)
}

fn template(name: &str, variables: &Value) -> WhatsappContent {
    WhatsappContent {
        template_id: Some(name.to_owned()),
        variables: variables.as_object().unwrap().clone(),
        ..WhatsappContent::default()
    }
}

#[tokio::test]
async fn templates_and_texts_are_posted_in_metas_format() {
    let simulator = Simulator::start(meta).await;
    let provider = provider_at(&simulator.url, "token");
    let accepted = Outcome::Accepted {
        provider_id: Some("wamid.4915100000001".to_owned()),
        is_delivered: false,
    };
    let order = message(
        "+4915100000001",
        Content::Whatsapp(template("order:de", &json!({ "1": "Ann", "2": 7 }))),
    );
    let reference = Reference::from(&order).to_string();
    assert_eq!(send(&*provider, order).await, accepted);
    let seen = simulator.seen();
    assert_eq!(seen[0].path, "/v23.0/77/messages");
    assert_eq!(
        seen[0].json(),
        json!({
            "messaging_product": "whatsapp", "recipient_type": "individual", "to": "4915100000001",
            "biz_opaque_callback_data": reference, "type": "template",
            "template": { "name": "order", "language": { "code": "de" }, "components": [
                { "type": "body", "parameters": [
                    { "type": "text", "text": "Ann" }, { "type": "text", "text": "7" }] }] },
        })
    );
    let reply = WhatsappContent {
        reply_text: Some("Grüße".to_owned()),
        phone_number_id: Some("88".to_owned()),
        ..WhatsappContent::default()
    };
    assert_eq!(
        send(&*provider, message("+4915100000001", Content::Whatsapp(reply))).await,
        accepted
    );
    let seen = simulator.seen();
    assert_eq!(seen[0].path, "/v23.0/88/messages");
    assert_eq!(
        (&seen[0].json()["type"], &seen[0].json()["text"]),
        (&json!("text"), &json!({ "body": "Grüße" }))
    );
}

#[tokio::test]
async fn each_provider_error_code_maps_to_an_outcome_for_the_recipient() {
    let simulator = Simulator::start(meta).await;
    let provider = provider_at(&simulator.url, "token");
    let rejected = |code: &str, reason: &str, effect| Outcome::Rejected {
        code: code.to_owned(),
        reason: reason.to_owned(),
        effect,
    };
    let retry = |code: &str, reason: &str, seconds: Option<u64>| Outcome::Retry {
        code: code.to_owned(),
        reason: reason.to_owned(),
        after: seconds.map(Duration::from_secs),
    };
    for (to, expected) in [
        ("+1", rejected("131026", "Message undeliverable", None)),
        ("+2", rejected("131047", "More than 24 hours have passed", None)),
        (
            "+3",
            rejected("131050", "Recipient stopped marketing messages", Some(Effect::Unsubscribed)),
        ),
        ("+4", retry("130429", "Rate limit hit", None)),
        ("+5", retry("131056", "Pair rate limit hit", None)),
        ("+6", retry("131000", "Something went wrong", None)),
        ("+7", retry("4", "Too many calls", Some(60))),
        ("+8", retry("502", "<html>Bad Gateway</html>", None)),
        ("+9", rejected("132001", "Template name does not exist", None)),
        ("+0", Outcome::Unknown { reason: "timeout: no answer within 10000 ms".to_owned() }),
    ] {
        let content = Content::Whatsapp(template("order", &json!({})));
        assert_eq!(send(&*provider, message(to, content)).await, expected, "{to}");
    }
    let expired = provider_at(&simulator.url, "old");
    let content = Content::Whatsapp(template("order", &json!({})));
    let outcome = send(&*expired, message("+4915100000001", content)).await;
    assert_eq!(outcome, rejected("190", "Access token has expired", None));
}

#[tokio::test]
async fn an_empty_message_is_not_posted() {
    let simulator = Simulator::start(meta).await;
    let provider = provider_at(&simulator.url, "token");
    let nothing = message("+49151", Content::Whatsapp(WhatsappContent::default()));
    let outcome = send(&*provider, nothing).await;
    assert!(matches!(outcome, Outcome::Rejected { code, .. } if code == "content"));
    let number = WhatsappContent {
        phone_number_id: Some("no number\n".to_owned()),
        ..template("order", &json!({}))
    };
    let outcome = send(&*provider, message("+49151", Content::Whatsapp(number))).await;
    assert!(matches!(outcome, Outcome::Rejected { code, .. } if code == "sender"));
    assert_eq!(simulator.seen().len(), 0);
}
