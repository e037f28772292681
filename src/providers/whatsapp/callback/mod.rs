//! Meta's callbacks: statuses, messages from recipients, and the verification of the URL.

use config::Settings;
use kernel::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use subtle::ConstantTimeEq as _;

use super::{
    PROVIDER,
    send::Problem,
    signature::{is_signature, is_signed},
};
use crate::{
    callback::{
        Call, CallbackSource, FromSettings, Head, Parameters, Received, Receiving, Unproven,
        check_shape, not_a_callback, parameter,
    },
    model::{Callback, Happened, Inbound, cut_to_line},
};

/// Meta, by the app's secret.
#[derive(Debug)]
pub(super) struct Whatsapp(Credentials);

/// The table `[callbacks.whatsapp]` of the settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Credentials {
    /// The app's secret, which signs its callbacks.
    app_secret: SecretString,
    /// The token that Meta sends when it verifies the callback URL.
    verify_token: SecretString,
}

impl FromSettings for Whatsapp {
    type Credentials = Credentials;

    const KEY: &'static str = "whatsapp";

    fn from_settings(credentials: Credentials, _: &Settings) -> anyhow::Result<Self> {
        Ok(Self(credentials))
    }
}

impl CallbackSource for Whatsapp {
    fn check_head(&self, head: &Head<'_>) -> Result<(), Unproven> {
        check_shape(signature(head), is_signature)
    }

    fn receive<'a>(&'a self, call: Call<'a>) -> Receiving<'a> {
        Box::pin(async move {
            let secret = self.0.app_secret.expose_secret();
            if !is_signed(secret, call.bytes, signature(&call.head)) {
                return Err(Unproven::Wrong.into());
            }
            let Notice { callbacks, inbound } = read(call.bytes).ok_or_else(not_a_callback)?;
            Ok(Received::new(PROVIDER.name, callbacks, inbound))
        })
    }

    fn challenge(&self, query: &Parameters) -> Result<String, Unproven> {
        let answer = challenge(query, self.0.verify_token.expose_secret());
        answer.map(str::to_owned).ok_or(Unproven::Wrong)
    }
}

fn signature<'c>(head: &Head<'c>) -> &'c str {
    head.header("x-hub-signature-256")
}

/// The contents of one callback.
#[derive(Debug, Default, PartialEq, Eq)]
struct Notice {
    /// What happened to messages.
    callbacks: Vec<Callback>,
    /// What recipients wrote. Who turns off marketing messages in WhatsApp says `STOP`, who turns them on
    /// again `START`.
    inbound: Vec<Inbound>,
}

/// The answer to Meta's verification of the URL: the challenge, if the token is right.
fn challenge<'q>(query: &'q Parameters, verify_token: &str) -> Option<&'q str> {
    let field = |name: &str| parameter(query, name);
    let is_known = field("hub.verify_token")?.as_bytes().ct_eq(verify_token.as_bytes());
    (field("hub.mode")? == "subscribe" && bool::from(is_known)).then(|| field("hub.challenge"))?
}

/// Reads a callback. None if it has not the API's form; changes of other kinds are ignored.
fn read(body: &[u8]) -> Option<Notice> {
    let body: Body = serde_json::from_slice(body).ok()?;
    let mut notice = Notice::default();
    for value in body.entry.into_iter().flat_map(|entry| entry.changes).map(|change| change.value) {
        let number = value.metadata.and_then(|metadata| metadata.display_phone_number);
        let number = number.map(|number| with_plus(&number)).unwrap_or_default();
        notice.callbacks.extend(value.statuses.into_iter().filter_map(Status::read));
        let written = value.messages.into_iter().filter_map(|message| message.read(&number));
        notice.inbound.extend(written);
        let chosen = value.user_preferences.into_iter().filter_map(|choice| choice.read(&number));
        notice.inbound.extend(chosen);
    }
    Some(notice)
}

#[derive(Deserialize)]
struct Body {
    entry: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    #[serde(default)]
    value: Changed,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Changed {
    metadata: Option<Metadata>,
    statuses: Vec<Status>,
    messages: Vec<Written>,
    user_preferences: Vec<Preference>,
}

#[derive(Deserialize)]
struct Metadata {
    display_phone_number: Option<String>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the format")]
struct Status {
    id: String,
    status: String,
    timestamp: Option<String>,
    biz_opaque_callback_data: Option<String>,
    #[serde(default)]
    errors: Vec<Problem>,
}

impl Status {
    fn read(self) -> Option<Callback> {
        let happened = match self.status.as_str() {
            "sent" => Happened::Sent,
            "delivered" => Happened::Delivered,
            "read" => Happened::Read,
            "failed" => match self.errors.first() {
                Some(error) => Happened::Failed {
                    code: error.code.to_string(),
                    reason: cut_to_line(error.reason()),
                    effect: error.effect(),
                },
                None => Happened::Failed {
                    code: "failed".to_owned(),
                    reason: String::new(),
                    effect: None,
                },
            },
            _ => return None,
        };
        let reference = self.biz_opaque_callback_data.and_then(|data| data.parse().ok());
        let at = self.timestamp.and_then(|at| moment(&at));
        Some(Callback { provider_id: self.id, reference, happened, at })
    }
}

#[derive(Deserialize)]
struct Written {
    id: String,
    from: String,
    text: Option<Text>,
    button: Option<Button>,
    interactive: Option<Interactive>,
}

#[derive(Deserialize)]
struct Text {
    body: String,
}

#[derive(Deserialize)]
struct Button {
    text: String,
}

#[derive(Deserialize)]
struct Interactive {
    button_reply: Option<Title>,
    list_reply: Option<Title>,
}

#[derive(Deserialize)]
struct Title {
    title: String,
}

impl Written {
    /// What was written or tapped; something without words (a picture) has an empty text.
    fn read(self, to: &str) -> Option<Inbound> {
        let tapped = self.interactive.and_then(|tap| tap.button_reply.or(tap.list_reply));
        let text = (self.text.map(|text| text.body))
            .or(self.button.map(|button| button.text))
            .or(tapped.map(|tapped| tapped.title))
            .unwrap_or_default();
        (!self.from.is_empty()).then(|| Inbound {
            id: self.id,
            from: with_plus(&self.from),
            to: to.to_owned(),
            text,
        })
    }
}

#[derive(Deserialize)]
struct Preference {
    wa_id: String,
    category: String,
    value: String,
    timestamp: serde_json::Value,
}

impl Preference {
    fn read(self, to: &str) -> Option<Inbound> {
        let text = match (self.category.as_str(), self.value.as_str()) {
            ("marketing_messages", "stop") => "STOP",
            ("marketing_messages", "resume") => "START",
            _ => return None,
        };
        let at = super::template::text(&self.timestamp);
        Some(Inbound {
            id: format!("preference:{}:{at}:{}", self.wa_id, self.value),
            from: with_plus(&self.wa_id),
            to: to.to_owned(),
            text: text.to_owned(),
        })
    }
}

/// A number with its `+`, which Meta leaves out, and without what makes it easy to read.
fn with_plus(number: &str) -> String {
    std::iter::once('+').chain(number.chars().filter(char::is_ascii_digit)).collect()
}

fn moment(seconds: &str) -> Option<Timestamp> {
    seconds.parse::<i64>().ok()?.checked_mul(1_000).map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests;
