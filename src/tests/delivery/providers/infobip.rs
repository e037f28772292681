//! Viber messages by Infobip.

use std::{sync::Arc, time::Duration};

use campaigns::model::message::MessageChannel;
use providers::{
    Provider,
    model::{Content, Outcome, Reference, ViberContent},
};
use serde_json::json;

use super::{
    TIMEOUT_SECONDS, message, provider_of, send,
    simulator::{Reply, Seen, Simulator},
};

/// Answers as Infobip does, by the recipient.
fn infobip(request: &Seen) -> Reply {
    let refusal = |status: u16, id: &str, text: &str| {
        let exception = json!({ "messageId": id, "text": text });
        Reply::json(status, &json!({ "requestError": { "serviceException": exception } }))
    };
    if request.header("authorization") != Some("App key") {
        return refusal(401, "UNAUTHORIZED", "Invalid login details");
    }
    let body = request.json();
    let message = &body["messages"][0];
    let content = &message["content"];
    let is_whole = request.method == "POST"
        && request.path == "/viber/2/messages"
        && request.header("content-type") == Some("application/json")
        && message["sender"].is_string()
        && message["destinations"][0]["messageId"].is_string()
        && match content["type"].as_str() {
            Some("TEXT") => content["text"].is_string(),
            Some("OTP_TEMPLATE") => content["id"].is_string() && content["parameters"].is_object(),
            _ => false,
        };
    if !is_whole {
        return refusal(400, "BAD_REQUEST", "Bad Request");
    }
    let standing = |group: &str, name: &str| {
        let status = json!({ "groupId": 1, "groupName": group, "id": 26, "name": name, "description": "as said" });
        let id = &message["destinations"][0]["messageId"];
        Reply::json(
            200,
            &json!({ "bulkId": "b", "messages": [{ "messageId": id, "status": status }] }),
        )
    };
    match message["destinations"][0]["to"].as_str().unwrap_or_default() {
        "1" => standing("REJECTED", "REJECTED_DESTINATION"),
        "2" => standing("UNDELIVERABLE", "UNDELIVERABLE_REJECTED_OPERATOR"),
        "3" => refusal(429, "TOO_MANY_REQUESTS", "Too many requests").with("retry-after", "2"),
        "4" => Reply::text(500, ""),
        "5" => Reply::json(403, &json!({ "errorCode": "E403", "description": "Forbidden sender" })),
        "6" => Reply::never(),
        _ => standing("PENDING", "PENDING_ENROUTE"),
    }
}

fn provider_at(url: &str, more: &[(&str, &str)]) -> Arc<dyn Provider> {
    let mut variables = vec![
        ("MILLRACE_CHANNELS__VIBER__PROVIDER", "infobip"),
        ("MILLRACE_CHANNELS__VIBER__URL", url),
        ("MILLRACE_CHANNELS__VIBER__API_KEY", "key"),
        ("MILLRACE_CHANNELS__VIBER__FROM", "Shop"),
        ("MILLRACE_CHANNELS__VIBER__TIMEOUT_SECONDS", TIMEOUT_SECONDS),
    ];
    variables.extend(more);
    provider_of(&variables, MessageChannel::Viber)
}

fn text(body: &str) -> ViberContent {
    ViberContent { body: Some(body.to_owned()), ..ViberContent::default() }
}

#[tokio::test]
async fn texts_and_templates_are_posted_in_infobips_format() {
    let simulator = Simulator::start(infobip).await;
    let callbacks = [
        ("MILLRACE_PUBLIC_URL", "https://m.example.test"),
        ("MILLRACE_CALLBACKS__INFOBIP__USERNAME", "in"),
        ("MILLRACE_CALLBACKS__INFOBIP__PASSWORD", "p:@"),
    ];
    let with_callbacks = provider_at(&simulator.url, &callbacks);
    let message_sent = message(
        "+4915100000001",
        Content::Viber(ViberContent { ttl_seconds: Some(60), ..text("Hi") }),
    );
    let (id, reference) = (message_sent.id.to_string(), Reference::from(&message_sent).to_string());
    let accepted =
        |id: &str| Outcome::Accepted { provider_id: Some(id.to_owned()), is_delivered: false };
    assert_eq!(send(&*with_callbacks, message_sent).await, accepted(&id));
    let url = "https://in:p%3A%40@m.example.test/callbacks/viber/infobip";
    assert_eq!(
        simulator.seen()[0].json(),
        json!({ "messages": [{
            "sender": "Shop",
            "destinations": [{ "to": "4915100000001", "messageId": id }],
            "content": { "type": "TEXT", "text": "Hi" },
            "options": { "validityPeriod": { "amount": 60, "timeUnit": "SECONDS" } },
            "webhooks": {
                "delivery": { "url": url }, "seen": { "url": url }, "contentType": "application/json",
                "callbackData": reference },
        }]})
    );
    let template = ViberContent {
        template_id: Some("t-1:GERMAN".to_owned()),
        variables: json!({ "pin": 12, "name": "Ann" }).as_object().unwrap().clone(),
        sender_id: Some("Other".to_owned()),
        ..ViberContent::default()
    };
    let message_sent = message("+4915100000001", Content::Viber(template));
    let id = message_sent.id.to_string();
    assert_eq!(send(&*provider_at(&simulator.url, &[]), message_sent).await, accepted(&id));
    assert_eq!(
        simulator.seen()[0].json(),
        json!({ "messages": [{
            "sender": "Other",
            "destinations": [{ "to": "4915100000001", "messageId": id }],
            "content": { "type": "OTP_TEMPLATE", "id": "t-1", "language": "GERMAN",
                "parameters": { "pin": "12", "name": "Ann" } },
        }]})
    );
}

#[tokio::test]
async fn infobip_errors_are_recorded_in_infobips_words() {
    let simulator = Simulator::start(infobip).await;
    let provider = provider_at(&simulator.url, &[]);
    let rejected = |code: &str, reason: &str| Outcome::Rejected {
        code: code.to_owned(),
        reason: reason.to_owned(),
        effect: None,
    };
    let retry = |code: &str, reason: &str, seconds: Option<u64>| Outcome::Retry {
        code: code.to_owned(),
        reason: reason.to_owned(),
        after: seconds.map(Duration::from_secs),
    };
    for (to, expected) in [
        ("+1", rejected("REJECTED_DESTINATION", "as said")),
        ("+2", rejected("UNDELIVERABLE_REJECTED_OPERATOR", "as said")),
        ("+3", retry("TOO_MANY_REQUESTS", "Too many requests", Some(2))),
        ("+4", retry("500", "", None)),
        ("+5", rejected("E403", "Forbidden sender")),
        ("+6", Outcome::Unknown { reason: "timeout: no answer within 10000 ms".to_owned() }),
    ] {
        let outcome = send(&*provider, message(to, Content::Viber(text("Hi")))).await;
        assert_eq!(outcome, expected, "{to}");
    }
    let wrong = provider_at(&simulator.url, &[("MILLRACE_CHANNELS__VIBER__API_KEY", "wrong")]);
    let outcome = send(&*wrong, message("+49151", Content::Viber(text("Hi")))).await;
    assert_eq!(outcome, rejected("UNAUTHORIZED", "Invalid login details"));
}
