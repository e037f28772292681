//! Text messages by Twilio.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use campaigns::model::message::MessageChannel;
use providers::{
    Provider,
    model::{Content, Effect, Outcome, Reference, SmsContent},
};
use serde_json::json;

use super::{
    TIMEOUT_SECONDS, message, provider_of, send,
    simulator::{Reply, Seen, Simulator},
};

/// Answers as Twilio does, by what the message says.
fn twilio(request: &Seen) -> Reply {
    let refusal = |status: u16, code: u32, message: &str| {
        Reply::json(status, &json!({ "code": code, "message": message, "status": status }))
    };
    let credentials = format!("Basic {}", STANDARD.encode("AC1:secret"));
    if request.method != "POST" || request.path != "/2010-04-01/Accounts/AC1/Messages.json" {
        return refusal(404, 20_404, "The requested resource was not found");
    }
    if request.header("authorization") != Some(&credentials) {
        return refusal(401, 20_003, "Authenticate");
    }
    if request.header("content-type") != Some("application/x-www-form-urlencoded") {
        return refusal(415, 20_415, "Unsupported media type");
    }
    let form = request.form();
    let field = |name: &str| {
        form.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    };
    if field("From").is_empty() == field("MessagingServiceSid").is_empty() {
        return refusal(400, 21_603, "A 'From' phone number is required.");
    }
    match field("Body") {
        "" => refusal(400, 21_602, "Message body is required."),
        "stopped" => refusal(400, 21_610, "Attempt to send to unsubscribed recipient"),
        "no number" => refusal(400, 21_211, "The 'To' number is not a valid phone number."),
        "no mobile" => refusal(400, 21_614, "'To' number is not a valid mobile number"),
        "region" => refusal(400, 21_408, "Permission to send an SMS has not been enabled"),
        "busy" => refusal(429, 20_429, "Too Many Requests").with("retry-after", "7"),
        "down" => Reply::text(503, "Service\nUnavailable"),
        "silent" => Reply::never(),
        "odd" => Reply::text(201, "not JSON"),
        "lost" => Reply::json(
            201,
            &json!({ "sid": "SM2", "status": "failed", "error_code": 30_005, "error_message": "Unknown" }),
        ),
        _ => Reply::json(
            201,
            &json!({ "sid": "SM1", "status": "queued", "error_code": null, "error_message": null }),
        ),
    }
}

const SETTINGS: [(&str, &str); 5] = [
    ("MILLRACE_CHANNELS__SMS__PROVIDER", "twilio"),
    ("MILLRACE_CHANNELS__SMS__ACCOUNT_SID", "AC1"),
    ("MILLRACE_CHANNELS__SMS__AUTH_TOKEN", "secret"),
    ("MILLRACE_CHANNELS__SMS__FROM", "+15550100000"),
    ("MILLRACE_CHANNELS__SMS__TIMEOUT_SECONDS", TIMEOUT_SECONDS),
];

/// The provider with these settings beside the usual ones.
fn provider_at(url: &str, more: &[(&str, &str)]) -> std::sync::Arc<dyn Provider> {
    let mut variables = vec![("MILLRACE_CHANNELS__SMS__URL", url)];
    variables.extend(SETTINGS);
    variables.extend(more);
    provider_of(&variables, MessageChannel::Sms)
}

fn sms(body: &str) -> SmsContent {
    SmsContent { body: body.to_owned(), ..SmsContent::default() }
}

#[tokio::test]
async fn a_text_message_is_posted_in_twilios_format() {
    let simulator = Simulator::start(twilio).await;
    let callbacks = [
        ("MILLRACE_PUBLIC_URL", "https://m.example.test/in/"),
        ("MILLRACE_CALLBACKS__TWILIO_AUTH_TOKEN", "t"),
    ];
    let provider = provider_at(&simulator.url, &callbacks);
    let content = SmsContent { ttl_seconds: Some(90_000), ..sms("Grüße & 100 % +1") };
    let message = message("+4915100000001", Content::Sms(content));
    let reference = Reference::from(&message);
    let accepted = Outcome::Accepted { provider_id: Some("SM1".to_owned()), is_delivered: false };
    assert_eq!(send(&*provider, message).await, accepted);
    let callback = format!("https://m.example.test/in/callbacks/sms/twilio?m={reference}");
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    assert_eq!(
        simulator.seen()[0].form(),
        pairs(&[
            ("To", "+4915100000001"),
            ("Body", "Grüße & 100 % +1"),
            ("From", "+15550100000"),
            ("ValidityPeriod", "36000"),
            ("StatusCallback", &callback),
        ])
    );
}

#[tokio::test]
async fn the_sender_is_that_of_the_message_then_the_service_then_the_channel() {
    let simulator = Simulator::start(twilio).await;
    let service = [("MILLRACE_CHANNELS__SMS__MESSAGING_SERVICE_SID", "MG1")];
    for (more, from, expected) in [
        (&[][..], None, ("From", "+15550100000")),
        (&service, None, ("MessagingServiceSid", "MG1")),
        (&service, Some("Shop"), ("From", "Shop")),
    ] {
        let content = SmsContent { from: from.map(str::to_owned), ..sms("Hi") };
        let provider = provider_at(&simulator.url, more);
        let outcome = send(&*provider, message("+4915100000001", Content::Sms(content))).await;
        assert!(matches!(outcome, Outcome::Accepted { .. }), "{outcome:?}");
        let form = simulator.seen()[0].form();
        let sender: Vec<_> =
            form.iter().filter(|(name, _)| name == "From" || name.starts_with("Mess")).collect();
        assert_eq!(sender, [&(expected.0.to_owned(), expected.1.to_owned())]);
    }
    let without: Vec<_> =
        SETTINGS.into_iter().filter(|(name, _)| !name.ends_with("FROM")).collect();
    let url = ("MILLRACE_CHANNELS__SMS__URL", simulator.url.as_str());
    let provider = provider_of(&[&without[..], &[url]].concat(), MessageChannel::Sms);
    let outcome = send(&*provider, message("+4915100000001", Content::Sms(sms("Hi")))).await;
    assert!(matches!(outcome, Outcome::Rejected { code, .. } if code == "no_sender"));
    assert_eq!(simulator.seen().len(), 0);
}

#[tokio::test]
async fn each_provider_error_code_maps_to_an_outcome_for_the_recipient() {
    let simulator = Simulator::start(twilio).await;
    let provider = provider_at(&simulator.url, &[]);
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
    for (body, expected) in [
        (
            "stopped",
            rejected(
                "21610",
                "Attempt to send to unsubscribed recipient",
                Some(Effect::Unsubscribed),
            ),
        ),
        (
            "no number",
            rejected(
                "21211",
                "The 'To' number is not a valid phone number.",
                Some(Effect::HardBounce),
            ),
        ),
        (
            "no mobile",
            rejected("21614", "'To' number is not a valid mobile number", Some(Effect::HardBounce)),
        ),
        ("region", rejected("21408", "Permission to send an SMS has not been enabled", None)),
        ("lost", rejected("30005", "Unknown", Some(Effect::HardBounce))),
        ("busy", retry("20429", "Too Many Requests", Some(7))),
        ("down", retry("503", "Service Unavailable", None)),
        ("silent", Outcome::Unknown { reason: "timeout: no answer within 10000 ms".to_owned() }),
        ("odd", Outcome::Accepted { provider_id: None, is_delivered: false }),
    ] {
        let outcome = send(&*provider, message("+4915100000001", Content::Sms(sms(body)))).await;
        assert_eq!(outcome, expected, "{body}");
    }
}

#[tokio::test]
async fn wrong_credentials_and_an_unreachable_provider_are_distinct_faults() {
    let simulator = Simulator::start(twilio).await;
    let wrong = provider_at(&simulator.url, &[("MILLRACE_CHANNELS__SMS__AUTH_TOKEN", "wrong")]);
    let outcome = send(&*wrong, message("+4915100000001", Content::Sms(sms("Hi")))).await;
    assert!(matches!(outcome, Outcome::Rejected { code, .. } if code == "20003"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let outcome = send(&*provider_at(&url, &[]), message("+49151", Content::Sms(sms("Hi")))).await;
    assert!(matches!(outcome, Outcome::Retry { code, .. } if code == "connection"));
}

#[tokio::test]
async fn outcomes_of_a_batch_are_in_its_order() {
    let simulator = Simulator::start(twilio).await;
    let provider = provider_at(&simulator.url, &[]);
    let batch: Vec<_> = (0..provider.batch_max())
        .map(|n| if n % 3 == 0 { "region" } else { "Hi" })
        .map(|body| message("+4915100000001", Content::Sms(sms(body))))
        .collect();
    for (n, sent) in provider.send(&batch).await.iter().enumerate() {
        let is_refused = matches!(sent.outcome, Outcome::Rejected { .. });
        assert_eq!(is_refused, n % 3 == 0, "{n}");
    }
}
