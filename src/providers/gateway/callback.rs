//! Reports of the operator's gateways, in the form of the generic gateway: `messageId` and `workspace` as the
//! message had them, or the `id` that the gateway answered.

use kernel::{
    DayEdge, Error, FieldError, MessageId, Result, WorkspaceId,
    fields::{Fields, FromFields, read_object},
};
use serde_json::Value;

use crate::model::{
    AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason, Inbound, Name, Reference,
    Report,
};

const SOURCE: &str = "gateway";
/// Signals of one call at most.
const SIGNALS_MAX: usize = 1000;
/// Characters of an id.
const ID_CHARS_MAX: usize = 255;
/// Characters of a code or a reason that are read; fewer are stored.
const WORDS_CHARS_MAX: usize = 4000;
/// Characters of a text that a recipient wrote.
const TEXT_CHARS_MAX: usize = 10_000;

/// One report of a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// Of a message that left.
    Report(Report),
    TextBack(TextBack),
}

/// A text that a recipient wrote back.
pub type TextBack = Inbound;

/// A call of a gateway: one signal or a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generic(pub Vec<Signal>);

#[derive(Debug, Clone, Copy)]
enum Type {
    Sent,
    Delivered,
    Read,
    Deferred,
    Failed,
    Bounced,
    Complained,
    Unsubscribed,
    Text,
}

const TYPES: &[(&str, Type)] = &[
    ("sent", Type::Sent),
    ("delivered", Type::Delivered),
    ("read", Type::Read),
    ("deferred", Type::Deferred),
    ("failed", Type::Failed),
    ("bounced", Type::Bounced),
    ("complained", Type::Complained),
    ("unsubscribed", Type::Unsubscribed),
    ("inbound", Type::Text),
];
const BOUNCES: &[(&str, BounceKind)] = &[("hard", BounceKind::Hard), ("soft", BounceKind::Soft)];

impl Generic {
    /// Reads a call.
    ///
    /// # Errors
    /// Every field that breaks a rule.
    pub fn read(body: &Value) -> Result<Self> {
        let (signals, is_list) = match body {
            Value::Array(signals) => (signals.as_slice(), true),
            one => (std::slice::from_ref(one), false),
        };
        if signals.is_empty() || signals.len() > SIGNALS_MAX {
            let problem = format!("body must hold between 1 and {SIGNALS_MAX} signals");
            return Err(Error::bad_request(problem));
        }
        let (mut read, mut complaints) = (Vec::new(), Vec::new());
        for (index, signal) in signals.iter().enumerate() {
            let place = if is_list { format!("[{index}]") } else { String::new() };
            match of_object::<Read>(signal) {
                Ok(Read(signal)) => read.extend(signal),
                Err(fields) => complaints.extend(fields.into_iter().map(|field| {
                    let dot = if place.is_empty() || field.path.is_empty() { "" } else { "." };
                    FieldError::new(format!("{place}{dot}{}", field.path), field.problem)
                })),
            }
        }
        if complaints.is_empty() { Ok(Self(read)) } else { Err(Error::Invalid(complaints)) }
    }
}

fn of_object<T: FromFields>(value: &Value) -> Result<T, Vec<FieldError>> {
    let map = value.as_object().ok_or_else(|| vec![FieldError::new("", "must be an object")])?;
    read_object(map)
}

/// A signal; none if it adds nothing to what is known.
struct Read(Option<Signal>);

impl FromFields for Read {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let kind = body.required("type").one_of(TYPES);
        let at = body.optional("timestamp").timestamp(DayEdge::Start);
        let event = body.optional("eventId").text(1..=ID_CHARS_MAX).unwrap_or_default();
        if matches!(kind, Type::Text) && body.is_clean() {
            let from = body.required("from").text(1..=ID_CHARS_MAX);
            let to = body.optional("to").text(0..=ID_CHARS_MAX).unwrap_or_default();
            let text = body.required("text").text(0..=TEXT_CHARS_MAX);
            let id = body.required("id").text(1..=ID_CHARS_MAX);
            return Self(Some(Signal::TextBack(Inbound { id, from, to, text })));
        }
        let names = names(body);
        let code = body.optional("code").text(0..=WORDS_CHARS_MAX).unwrap_or_default();
        let reason = body.optional("reason").text(0..=WORDS_CHARS_MAX).unwrap_or_default();
        let address = body.optional("address").text(1..=ID_CHARS_MAX);
        let reason = FeedbackReason::new(&code, &reason);
        let address = address.map_or(AddressClaim::Recipient, AddressClaim::Named);
        let kind = match kind {
            Type::Sent | Type::Text => None,
            Type::Delivered => Some(FeedbackKind::Delivered),
            Type::Read => Some(FeedbackKind::Read),
            Type::Deferred => Some(FeedbackKind::Deferred(reason)),
            Type::Failed => Some(FeedbackKind::Failed(reason)),
            Type::Bounced => {
                let kind = body.required("bounceType").one_of(BOUNCES);
                Some(FeedbackKind::Bounced { kind, reason, address })
            }
            Type::Complained => Some(FeedbackKind::Complained { reason, address }),
            Type::Unsubscribed => Some(FeedbackKind::Unsubscribed { source: "provider" }),
        };
        let feedback = |kind| Feedback { source: SOURCE, event, at, kind };
        Self(kind.map(|kind| Signal::Report(Report { names, feedback: feedback(kind) })))
    }
}

fn names(body: &mut Fields<'_>) -> Vec<Name> {
    let message = body
        .optional("messageId")
        .parsed(None, |text| text.parse().map(Some).map_err(|_| "must be a UUID".to_owned()))
        .flatten();
    let workspace = body
        .optional("workspace")
        .parsed(None, |text| text.parse().map(Some).map_err(|_| "must be a UUID".to_owned()))
        .flatten();
    let id = body.optional("id").text(1..=ID_CHARS_MAX);
    let reference = match (workspace, message) {
        (Some(workspace), Some(message)) => Some(Reference { workspace, message }),
        (None, Some::<MessageId>(_)) => {
            body.refuse("workspace", "is required beside messageId");
            None
        }
        (Some::<WorkspaceId>(_) | None, None) => None,
    };
    if reference.is_none() && id.is_none() && body.is_clean() {
        body.refuse_body("messageId and workspace, or id, is required");
    }
    reference.map(Name::Reference).into_iter().chain(id.map(Name::Provider)).collect()
}

#[cfg(test)]
mod tests {
    use kernel::Timestamp;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const MESSAGE: &str = "00000000-0000-7000-8000-000000000001";
    const WORKSPACE: &str = "00000000-0000-7000-8000-000000000002";

    fn complaints(body: &Value) -> String {
        match Generic::read(body) {
            Err(error @ (Error::Invalid(_) | Error::BadRequest { .. })) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_signal_names_its_message_and_says_what_happened() {
        let body = json!({"type": "bounced", "messageId": MESSAGE, "workspace": WORKSPACE, "id": "g1",
            "bounceType": "hard", "code": "5.1.1", "reason": "no\nsuch user", "eventId": "e1",
            "timestamp": "2026-03-01T12:00:00Z", "address": "ann@example.test"});
        let Generic(signals) = Generic::read(&body).unwrap();
        let [Signal::Report(report)] = &signals[..] else { panic!("{signals:?}") };
        let reference =
            Reference { workspace: WORKSPACE.parse().unwrap(), message: MESSAGE.parse().unwrap() };
        assert_eq!(report.names, [Name::Reference(reference), Name::Provider("g1".into())]);
        assert_eq!(
            report.feedback.kind,
            FeedbackKind::Bounced {
                kind: BounceKind::Hard,
                reason: FeedbackReason { code: "5.1.1".into(), text: "no such user".into() },
                address: AddressClaim::Named("ann@example.test".into()),
            }
        );
        assert_eq!(report.feedback.at.map(Timestamp::millis), Some(1_772_366_400_000));
    }

    #[test]
    fn every_type_is_read_and_what_was_sent_is_known_already() {
        for (name, _) in TYPES {
            let body = json!({"type": name, "id": "g1", "bounceType": "soft", "from": "+1555", "text": "stop"});
            let Generic(signals) = Generic::read(&body).unwrap();
            assert_eq!(signals.len(), usize::from(*name != "sent"), "{name}");
        }
    }

    #[test]
    fn every_failed_field_is_named() {
        assert_eq!(
            complaints(
                &json!([{"type": "delivered", "id": "a"}, {"type": "gone", "messageId": "x"}, 7])
            ),
            "[1].type must be one of: sent, delivered, read, deferred, failed, bounced, complained, \
             unsubscribed, inbound; [1].messageId must be a UUID; [2] must be an object"
        );
        for (body, wanted) in [
            (json!({"type": "delivered"}), "messageId and workspace, or id, is required"),
            (
                json!({"type": "delivered", "messageId": MESSAGE}),
                "workspace is required beside messageId",
            ),
            (json!({"type": "bounced", "id": "a"}), "bounceType is required"),
            (json!({"type": "inbound", "id": "a"}), "from is required; text is required"),
            (json!([]), "body must hold between 1 and 1000 signals"),
            (json!(null), "must be an object"),
        ] {
            assert_eq!(complaints(&body), wanted, "{body}");
        }
        let many = |count| Value::Array(vec![json!({"type": "delivered", "id": "a"}); count]);
        assert!(Generic::read(&many(SIGNALS_MAX)).is_ok());
        assert!(complaints(&many(SIGNALS_MAX + 1)).contains("between 1 and 1000"));
    }

    proptest! {
        #[test]
        fn any_json_is_read_without_panicking(body in crate::callback::test_kit::any_json()) {
            drop(Generic::read(&body));
        }

        #[test]
        fn no_text_is_too_strange(kind in "\\PC{0,9}", id in "\\PC{0,300}", at in "\\PC{0,30}") {
            drop(Generic::read(&json!({"type": kind, "id": id, "timestamp": at, "messageId": at})));
            drop(Generic::read(&json!({"type": "failed", "id": "a", "reason": id, "code": kind})));
        }
    }
}
