//! Resend's webhooks: one event a call, signed as Svix does.

use config::Settings;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

use super::PROVIDER;
use crate::{
    callback::{
        Call, CallbackSource, FromSettings, Head, Receiving, Secret, StandardHead, Status,
        Unproven,
        json::{list, message_ids, text, time},
        setting,
    },
    model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason, Name, Report},
};

/// Recipients of one event that are read; messages of Millrace have one.
const RECIPIENTS_MAX: usize = 50;

/// Resend's webhooks, signed with the account's secret.
#[derive(Debug)]
pub(super) struct Resend(Secret);

/// The table `[callbacks.resend]` of the settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Credentials {
    /// The signing secret, `whsec_…`.
    secret: SecretString,
}

impl FromSettings for Resend {
    type Credentials = Credentials;

    const KEY: &'static str = "resend";

    fn from_settings(credentials: Credentials, _: &Settings) -> anyhow::Result<Self> {
        setting("resend.secret", Secret::read(&credentials.secret)).map(Self)
    }
}

impl CallbackSource for Resend {
    fn check_head(&self, head: &Head<'_>) -> Result<(), Unproven> {
        signed(head).check_shape(head.now)
    }

    fn receive<'a>(&'a self, call: Call<'a>) -> Receiving<'a> {
        Box::pin(async move {
            let head = signed(&call.head);
            head.check(&self.0, call.head.now, call.bytes)?;
            Ok(reports(&call.json()?, head.id).into())
        })
    }
}

/// Standard Webhooks, by Svix' names of the headers.
fn signed<'c>(head: &Head<'c>) -> StandardHead<'c> {
    StandardHead {
        id: head.header("svix-id"),
        timestamp: head.header("svix-timestamp"),
        signatures: head.header("svix-signature"),
    }
}

/// The report of an event for each recipient. `event` is the id of the call.
pub(super) fn reports(body: &Value, event: &str) -> Vec<Report> {
    let recipients = list(body, "/data/to").iter().filter_map(Value::as_str).take(RECIPIENTS_MAX);
    let mut addresses: Vec<AddressClaim> =
        recipients.map(|to| AddressClaim::Named(to.to_owned())).collect();
    if addresses.is_empty() {
        addresses.push(AddressClaim::Recipient);
    }
    let ours = message_ids(list(body, "/data/headers"));
    let names =
        Name::among(ours.chain([text(body, "/data/message_id")]), text(body, "/data/email_id"));
    addresses
        .into_iter()
        .filter_map(|address| kind_of(body, address))
        .map(|kind| Report {
            names: names.clone(),
            feedback: Feedback {
                source: PROVIDER.name,
                event: event.to_owned(),
                at: time(body, "/created_at"),
                kind,
            },
        })
        .collect()
}

fn kind_of(body: &Value, address: AddressClaim) -> Option<FeedbackKind> {
    Some(match text(body, "/type") {
        "email.delivered" => FeedbackKind::Delivered,
        "email.delivery_delayed" => FeedbackKind::Deferred(FeedbackReason::default()),
        "email.failed" => {
            FeedbackKind::Failed(FeedbackReason::new("failed", text(body, "/data/failed/reason")))
        }
        "email.suppressed" => FeedbackKind::Failed(FeedbackReason::new(
            "suppressed",
            text(body, "/data/suppressed/message"),
        )),
        "email.complained" => {
            FeedbackKind::Complained { reason: FeedbackReason::new("abuse", ""), address }
        }
        "email.bounced" => {
            let words = text(body, "/data/bounce/message");
            let subtype = text(body, "/data/bounce/subType");
            let status = Status::within(words);
            let code = status.map_or_else(|| subtype.to_owned(), |status| status.to_string());
            let is_permanent = text(body, "/data/bounce/type") == "Permanent";
            let kind = if is_permanent { BounceKind::Hard } else { BounceKind::Soft };
            FeedbackKind::Bounced { kind, reason: FeedbackReason::new(&code, words), address }
        }
        _ => return None,
    })
}
