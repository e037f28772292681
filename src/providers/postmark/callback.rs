//! What Postmark's webhooks say: one record a call.

use config::Settings;
use serde_json::Value;

use super::PROVIDER;
use crate::{
    callback::{
        Basic, BasicCredentials, Call, CallbackSource, FromSettings, Head, Receiving, Unproven,
        json::{text, time},
    },
    model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason, Name, Report},
};

/// Values of a record's metadata that may name the message.
const METADATA_MAX: usize = 20;

/// Postmark's webhooks, with the credentials that they send.
#[derive(Debug)]
pub(super) struct Postmark(Basic);

impl FromSettings for Postmark {
    type Credentials = BasicCredentials;

    const KEY: &'static str = "postmark";

    fn from_settings(credentials: BasicCredentials, _: &Settings) -> anyhow::Result<Self> {
        Ok(Self(Basic::from_settings(&credentials)))
    }
}

impl CallbackSource for Postmark {
    fn check_head(&self, head: &Head<'_>) -> Result<(), Unproven> {
        self.0.check(head.header("authorization"))
    }

    fn receive<'a>(&'a self, call: Call<'a>) -> Receiving<'a> {
        Box::pin(async move {
            let reports: Vec<Report> = report(&call.json()?).into_iter().collect();
            Ok(reports.into())
        })
    }
}

/// The report in a record.
pub(super) fn report(body: &Value) -> Option<Report> {
    let (kind, at) = match text(body, "/RecordType") {
        "Delivery" => (FeedbackKind::Delivered, "/DeliveredAt"),
        "Bounce" => (bounced(body)?, "/BouncedAt"),
        "SpamComplaint" => (complained(body), "/BouncedAt"),
        "SubscriptionChange" if opts_out(body) => {
            (FeedbackKind::Unsubscribed { source: "provider" }, "/ChangedAt")
        }
        _ => return None,
    };
    let event = match body.pointer("/ID") {
        Some(Value::Number(id)) => id.to_string(),
        _ => text(body, at).to_owned(),
    };
    let metadata = body.pointer("/Metadata").and_then(Value::as_object);
    let ours = metadata.into_iter().flat_map(|all| all.values()).take(METADATA_MAX);
    let names = Name::among(ours.filter_map(Value::as_str), text(body, "/MessageID"));
    Some(Report {
        names,
        feedback: Feedback { source: PROVIDER.name, event, at: time(body, at), kind },
    })
}

fn address(body: &Value, pointer: &str) -> AddressClaim {
    match text(body, pointer) {
        "" => AddressClaim::Recipient,
        address => AddressClaim::Named(address.to_owned()),
    }
}

fn complained(body: &Value) -> FeedbackKind {
    let reason = FeedbackReason::new(text(body, "/Type"), text(body, "/Description"));
    FeedbackKind::Complained { reason, address: address(body, "/Email") }
}

fn bounced(body: &Value) -> Option<FeedbackKind> {
    let kind = text(body, "/Type");
    let words = match text(body, "/Details") {
        "" => text(body, "/Description"),
        details => details,
    };
    let reason = FeedbackReason::new(kind, words);
    let bounce = |bounce| FeedbackKind::Bounced {
        kind: bounce,
        reason: reason.clone(),
        address: address(body, "/Email"),
    };
    Some(match kind {
        "HardBounce" | "BadEmailAddress" => bounce(BounceKind::Hard),
        "SpamComplaint" => complained(body),
        "Unsubscribe" => FeedbackKind::Unsubscribed { source: "provider" },
        "Transient" => FeedbackKind::Deferred(reason),
        "SMTPApiError"
        | "InboundError"
        | "TemplateRenderingFailed"
        | "ManuallyDeactivated"
        | "Unconfirmed" => FeedbackKind::Failed(reason),
        // An answer, so the message arrived.
        "AutoResponder"
        | "AddressChange"
        | "Subscribe"
        | "ChallengeVerification"
        | "OpenRelayTest" => return None,
        _ => bounce(BounceKind::Soft),
    })
}

/// Whether a recipient opted out at Postmark. Postmark reports a bounce or a complaint that it suppresses by itself
/// as a bounce or a complaint.
fn opts_out(body: &Value) -> bool {
    body.pointer("/SuppressSending") == Some(&Value::Bool(true))
        && text(body, "/SuppressionReason") == "ManualSuppression"
        && text(body, "/Origin") == "Recipient"
}
