//! Infobip's callbacks: delivery reports, seen reports and messages from recipients.

use config::Settings;
use kernel::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{PROVIDER, send::Status};
use crate::{
    callback::{
        Basic, BasicCredentials, Call, CallbackSource, FromSettings, Head, Received, Receiving,
        Unproven, not_a_callback,
    },
    model::{Callback, Happened, Inbound, cut_to_line},
};

/// Where they are posted.
pub(super) const PATH: &str = "/callbacks/viber/infobip";

/// Infobip, with the credentials that it sends.
#[derive(Debug)]
pub(super) struct Infobip(Basic);

impl FromSettings for Infobip {
    type Credentials = BasicCredentials;

    const KEY: &'static str = "infobip";

    fn from_settings(credentials: BasicCredentials, _: &Settings) -> anyhow::Result<Self> {
        Ok(Self(Basic::from_settings(&credentials)))
    }
}

impl CallbackSource for Infobip {
    fn check_head(&self, head: &Head<'_>) -> Result<(), Unproven> {
        self.0.check(head.header("authorization"))
    }

    fn receive<'a>(&'a self, call: Call<'a>) -> Receiving<'a> {
        Box::pin(async move {
            let Notice { callbacks, inbound } = read(call.bytes).ok_or_else(not_a_callback)?;
            Ok(Received::new(PROVIDER.name, callbacks, inbound))
        })
    }
}

/// The contents of one callback.
#[derive(Debug, Default, PartialEq, Eq)]
struct Notice {
    /// What happened to messages.
    callbacks: Vec<Callback>,
    inbound: Vec<Inbound>,
}

/// Reads a callback. None if it has not the API's form.
fn read(body: &[u8]) -> Option<Notice> {
    let body: Body = serde_json::from_slice(body).ok()?;
    let mut notice = Notice::default();
    for result in body.results {
        if result.content.is_some() {
            notice.inbound.extend(result.written());
        } else {
            notice.callbacks.extend(result.happened());
        }
    }
    Some(notice)
}

#[derive(Deserialize)]
struct Body {
    results: Vec<Report>,
}

/// A result of any kind; its fields distinguish the kinds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    message_id: Option<String>,
    #[serde(alias = "from")]
    sender: Option<String>,
    to: Option<String>,
    content: Option<Value>,
    status: Option<Status>,
    error: Option<Failure>,
    sent_at: Option<String>,
    done_at: Option<String>,
    seen_at: Option<String>,
    callback_data: Option<String>,
}

#[derive(Deserialize)]
struct Failure {
    name: Option<String>,
    description: Option<String>,
}

impl Report {
    fn happened(self) -> Option<Callback> {
        let provider_id = self.message_id?;
        let reference = self.callback_data.and_then(|data| data.parse().ok());
        let moment = |at: Option<String>| at.and_then(|at| Timestamp::parse(&at).ok());
        if self.seen_at.is_some() {
            let at = moment(self.seen_at);
            return Some(Callback { provider_id, reference, happened: Happened::Read, at });
        }
        let status = self.status?;
        let happened = match status.group_name.as_str() {
            "DELIVERED" => Happened::Delivered,
            "UNDELIVERABLE" | "EXPIRED" | "REJECTED" => {
                let error = self.error.filter(|error| error.name.as_deref() != Some("NO_ERROR"));
                let (name, description) =
                    error.map_or((None, None), |error| (error.name, error.description));
                let reason = description.unwrap_or_else(|| status.reason().to_owned());
                Happened::Failed {
                    code: name.unwrap_or_else(|| status.code()),
                    reason: cut_to_line(&reason),
                    effect: None,
                }
            }
            _ => return None,
        };
        Some(Callback {
            provider_id,
            reference,
            happened,
            at: moment(self.done_at.or(self.sent_at)),
        })
    }

    fn written(self) -> Option<Inbound> {
        let from: String = self.sender?.chars().filter(char::is_ascii_digit).collect();
        Some(Inbound {
            id: self.message_id?,
            from: format!("+{from}"),
            to: self.to.unwrap_or_default(),
            text: self.content?.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use kernel::{MessageId, WorkspaceId};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::model::Reference;

    #[test]
    fn a_report_says_what_happened_and_when() {
        let at = Timestamp::parse("2026-03-01T12:00:05.25Z").ok();
        let reference = Reference {
            workspace: WorkspaceId::new(Uuid::from_u128(1)),
            message: MessageId::new(Uuid::from_u128(2)),
        };
        let failed = |code: &str, reason: &str| Happened::Failed {
            code: code.to_owned(),
            reason: reason.to_owned(),
            effect: None,
        };
        for (group, error, happened) in [
            ("DELIVERED", json!({ "name": "NO_ERROR" }), Some(Happened::Delivered)),
            (
                "UNDELIVERABLE",
                json!({ "name": "EC_VIBER_USER_NOT_FOUND", "description": "no user" }),
                Some(failed("EC_VIBER_USER_NOT_FOUND", "no user")),
            ),
            ("EXPIRED", json!({ "name": "NO_ERROR", "description": "ok" }), Some(failed("N", "D"))),
            ("REJECTED", json!(null), Some(failed("N", "D"))),
            ("PENDING", json!(null), None),
            ("ACCEPTED", json!(null), None),
        ] {
            let body = json!({ "results": [{
                "messageId": "m-1", "to": "4915100000001", "sender": "Shop",
                "sentAt": "2026-03-01T12:00:00.000+0000", "doneAt": "2026-03-01T12:00:05.250+0000",
                "status": { "groupId": 3, "groupName": group, "id": 5, "name": "N", "description": "D" },
                "error": error, "callbackData": reference.to_string(),
            }]});
            let notice = read(body.to_string().as_bytes()).unwrap();
            let expected: Vec<_> = happened
                .map(|happened| Callback {
                    provider_id: "m-1".to_owned(),
                    reference: Some(reference),
                    happened,
                    at,
                })
                .into_iter()
                .collect();
            assert_eq!(notice, Notice { callbacks: expected, inbound: Vec::new() }, "{group}");
        }
    }

    #[test]
    fn seen_reports_and_texts_are_distinguished() {
        let body = json!({ "results": [
            { "messageId": "m-1", "from": "Shop", "to": "49151", "sentAt": "2026-03-01T12:00:00.000+0000",
              "seenAt": "2026-03-01T12:01:00.000+0000", "callbackData": "the caller's data" },
            { "messageId": "in-1", "sender": "49151", "to": "Shop", "integrationType": "VIBER",
              "receivedAt": "2026-03-01T12:02:00.000+0000", "content": { "type": "TEXT", "text": "stop" } },
            { "messageId": "in-2", "from": "49151", "content": { "type": "FILE" } },
        ]});
        let notice = read(body.to_string().as_bytes()).unwrap();
        let at = Timestamp::parse("2026-03-01T12:01:00Z").ok();
        assert_eq!(
            notice.callbacks,
            [Callback {
                provider_id: "m-1".to_owned(),
                reference: None,
                happened: Happened::Read,
                at
            }]
        );
        let inbound = |id: &str, to: &str, text: &str| Inbound {
            id: id.to_owned(),
            from: "+49151".to_owned(),
            to: to.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(notice.inbound, [inbound("in-1", "Shop", "stop"), inbound("in-2", "", "")]);
    }

    #[test]
    fn what_is_not_of_the_shape_is_nothing() {
        for body in ["", "null", "[]", "{}", r#"{"results":1}"#, r#"{"results":[1]}"#] {
            assert_eq!(read(body.as_bytes()), None, "{body}");
        }
        for body in [r#"{"results":[]}"#, r#"{"results":[{}]}"#, r#"{"results":[{"content":5}]}"#] {
            assert_eq!(read(body.as_bytes()), Some(Notice::default()), "{body}");
        }
    }
}
