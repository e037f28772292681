//! Values and checks that the tests of several providers share.

use kernel::{MessageId, Timestamp, WorkspaceId};
use proptest::prelude::*;
use secrecy::SecretString;
use serde_json::Value;

use crate::model::{AddressClaim, FeedbackKind, Reference, Report};

/// 2026-11-21T12:00:00Z in seconds since 1970.
pub(crate) const NOW_S: i64 = 1_795_262_400;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(NOW_S * 1000)
}

pub(crate) fn later(seconds: i64) -> Timestamp {
    Timestamp::from_millis((NOW_S + seconds) * 1000)
}

pub(crate) fn reference() -> Reference {
    let uuid = uuid::Uuid::from_u128;
    Reference { workspace: WorkspaceId::new(uuid(1)), message: MessageId::new(uuid(2)) }
}

pub(crate) fn secret(text: &str) -> SecretString {
    text.to_owned().into()
}

/// A report in a line: kind, code, address.
fn line(report: &Report) -> String {
    let (code, _, label) = report.feedback.kind.details();
    let address = match &report.feedback.kind {
        FeedbackKind::Bounced { address: AddressClaim::Named(address), .. }
        | FeedbackKind::Complained { address: AddressClaim::Named(address), .. } => {
            address.as_str()
        }
        _ => "",
    };
    let line = format!("{} {label} {code} {address}", report.feedback.kind.message_kind().as_str());
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reports, a line each.
pub(crate) fn lines(reports: &[Report]) -> Vec<String> {
    reports.iter().map(line).collect()
}

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
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
