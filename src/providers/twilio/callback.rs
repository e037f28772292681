//! Twilio's callbacks: the status of messages, and texts from recipients.

use config::Settings;
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    PROVIDER,
    send::effect,
    signature::{is_signature, is_signed},
};
use crate::{
    callback::{
        Call, CallbackSource, FromSettings, Head, Parameters, Received, Receiving, Unproven,
        check_shape, parameter,
    },
    model::{Callback, Happened, Inbound, cut_to_line},
};

/// Where they are posted.
pub(super) const PATH: &str = "/callbacks/sms/twilio";

/// Twilio, by its auth token.
#[derive(Debug)]
pub(super) struct Twilio(SecretString);

impl FromSettings for Twilio {
    /// The auth token, which signs callbacks.
    type Credentials = SecretString;

    const KEY: &'static str = "twilio_auth_token";

    fn from_settings(token: SecretString, _: &Settings) -> anyhow::Result<Self> {
        Ok(Self(token))
    }
}

impl CallbackSource for Twilio {
    fn check_head(&self, head: &Head<'_>) -> Result<(), Unproven> {
        check_shape(signature(head), is_signature)
    }

    fn receive<'a>(&'a self, call: Call<'a>) -> Receiving<'a> {
        Box::pin(async move {
            if !is_signed(self.0.expose_secret(), call.url, call.form, signature(&call.head)) {
                return Err(Unproven::Wrong.into());
            }
            Ok(read(&call))
        })
    }
}

fn signature<'c>(head: &Head<'c>) -> &'c str {
    head.header("x-twilio-signature")
}

/// The status of a message, or a text from a recipient.
fn read(call: &Call<'_>) -> Received {
    if let Some(callback) = read_status(call.form) {
        let reference = parameter(call.query, "m").and_then(|reference| reference.parse().ok());
        let callback = Callback { reference: callback.reference.or(reference), ..callback };
        return Received::new(PROVIDER.name, vec![callback], Vec::new());
    }
    let inbound = read_inbound(call.form);
    let mut received = Received::new(PROVIDER.name, Vec::new(), inbound.into_iter().collect());
    for text in &mut received.texts {
        // Twilio understands keywords in every language that it is configured for.
        text.keyword = parameter(call.form, "OptOutType").map(str::to_owned);
    }
    received
}

/// Reads a status callback. None for a status that is not recorded. The message's reference is the parameter `m` of
/// the URL that is called.
fn read_status(form: &Parameters) -> Option<Callback> {
    let provider_id =
        parameter(form, "MessageSid").or_else(|| parameter(form, "SmsSid"))?.to_owned();
    let status = parameter(form, "MessageStatus").or_else(|| parameter(form, "SmsStatus"))?;
    let happened = match status {
        "sent" => Happened::Sent,
        "delivered" => Happened::Delivered,
        "read" => Happened::Read,
        "failed" | "undelivered" | "canceled" => {
            let number = parameter(form, "ErrorCode").and_then(|code| code.parse::<i64>().ok());
            Happened::Failed {
                code: number.map_or_else(|| status.to_owned(), |number| number.to_string()),
                reason: cut_to_line(parameter(form, "ErrorMessage").unwrap_or(status)),
                effect: number.and_then(effect),
            }
        }
        _ => return None,
    };
    Some(Callback { provider_id, reference: None, happened, at: None })
}

/// Reads a message from a recipient. None if the form is none.
fn read_inbound(form: &Parameters) -> Option<Inbound> {
    Some(Inbound {
        id: parameter(form, "MessageSid").or_else(|| parameter(form, "SmsSid"))?.to_owned(),
        from: parameter(form, "From")?.to_owned(),
        to: parameter(form, "To")?.to_owned(),
        text: parameter(form, "Body")?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Effect;

    fn form(fields: &[(&str, &str)]) -> Vec<(String, String)> {
        fields.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_status_says_what_happened() {
        let failed = |code: &str, reason: &str, effect| {
            Some(Happened::Failed { code: code.to_owned(), reason: reason.to_owned(), effect })
        };
        for (status, code, happened) in [
            ("sent", "", Some(Happened::Sent)),
            ("delivered", "", Some(Happened::Delivered)),
            ("read", "", Some(Happened::Read)),
            ("undelivered", "30003", failed("30003", "undelivered", None)),
            ("undelivered", "30005", failed("30005", "undelivered", Some(Effect::HardBounce))),
            ("undelivered", "30006", failed("30006", "undelivered", Some(Effect::HardBounce))),
            ("failed", "21610", failed("21610", "failed", Some(Effect::Unsubscribed))),
            ("failed", "x", failed("failed", "failed", None)),
            ("canceled", "", failed("canceled", "canceled", None)),
            ("queued", "", None),
            ("sending", "", None),
            ("accepted", "", None),
            ("received", "", None),
            ("", "", None),
        ] {
            let fields =
                form(&[("MessageSid", "SM1"), ("MessageStatus", status), ("ErrorCode", code)]);
            let read = read_status(&fields);
            assert_eq!(read.as_ref().map(|read| &read.happened), happened.as_ref(), "{status}");
            assert!(read.is_none_or(|read| read.provider_id == "SM1"));
        }
        assert_eq!(read_status(&form(&[("MessageStatus", "sent")])), None);
        assert_eq!(read_status(&[]), None);
    }

    #[test]
    fn a_text_from_a_recipient_needs_sender_and_text() {
        let whole = form(&[
            ("MessageSid", "SM9"),
            ("From", "+4915100000001"),
            ("To", "+4915199999999"),
            ("Body", " Stop "),
        ]);
        let read = read_inbound(&whole).unwrap();
        assert_eq!((read.id.as_str(), read.from.as_str()), ("SM9", "+4915100000001"));
        assert_eq!((read.to.as_str(), read.text.as_str()), ("+4915199999999", " Stop "));
        for missing in 0..whole.len() {
            let mut part = whole.clone();
            part.remove(missing);
            assert_eq!(read_inbound(&part), None);
        }
    }
}
