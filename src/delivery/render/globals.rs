//! The variables of templates, the same in every channel.

use campaigns::model::message::MessageChannel;
use content::template::{Object, Value};
use kernel::{Channel, ListId};
use serde_json::{Map, Value as Json};
use web::links::{Link, Preferences, Unsubscribe};

use super::Around;
use crate::model::{Named, Recipient};

/// The links to unsubscribe and to the preference page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaysOut {
    /// Unsubscribes from the list, or from the channel if the message has no list. Empty without a profile.
    pub unsubscribe: String,
    /// Opens the preference page. Empty without a profile.
    pub preferences: String,
}

impl WaysOut {
    /// Those of one message.
    pub fn of(
        recipient: &Recipient,
        around: &Around<'_>,
        list: Option<ListId>,
        channel: MessageChannel,
    ) -> Self {
        // A test to another address: its reader must not unsubscribe the profile.
        if around.context.to.is_some() {
            return Self {
                unsubscribe: around.signer.idle_url("u"),
                preferences: around.signer.idle_url("p"),
            };
        }
        let Some(user) = recipient.user else { return Self::default() };
        let workspace = around.workspace;
        let unsubscribe = Link::Unsubscribe(Unsubscribe {
            workspace,
            user,
            list,
            channel: consented(channel),
            message: Some(around.message.uuid()),
        });
        let preferences = Link::Preferences(Preferences { workspace, user });
        Self {
            unsubscribe: around.signer.url(&unsubscribe),
            preferences: around.signer.url(&preferences),
        }
    }
}

/// The channel that a recipient opts out of.
fn consented(channel: MessageChannel) -> Option<Channel> {
    match channel {
        MessageChannel::Email => Some(Channel::Email),
        MessageChannel::Sms => Some(Channel::Sms),
        MessageChannel::Viber => Some(Channel::Viber),
        MessageChannel::Push => Some(Channel::Push),
        MessageChannel::Whatsapp => Some(Channel::Whatsapp),
        MessageChannel::Webhook => None,
    }
}

/// The variables of one message. Attributes have their bare names, and are in `user` and `user.attributes`. A profile's own
/// field (`id`, `email`, …) takes precedence over an attribute of that name, and the names of this function over a bare
/// attribute.
pub fn globals(
    recipient: &Recipient,
    around: &Around<'_>,
    campaign: Option<&Named>,
    outs: &WaysOut,
) -> Object {
    let context = around.context;
    let attributes = object(&recipient.attributes);
    let mut globals = attributes.clone();
    let variables = context.variables.as_ref().map(object).unwrap_or_default();
    globals.extend(variables.clone());
    let mut user = attributes.clone();
    for (name, value) in profile(recipient) {
        if !globals.contains_key(name) {
            globals.insert(name.into(), value.clone());
        }
        user.insert(name.into(), value);
    }
    user.insert("attributes".into(), Value::Object(attributes));
    // Both names refer to the trigger of the message, whichever kind it has.
    let event = context.event.as_ref().or(context.trigger.as_ref()).map_or(Value::Nil, value);
    let trigger = context.trigger.as_ref().or(context.event.as_ref()).map_or(Value::Nil, value);
    let campaign = campaign.map_or(Value::Nil, |campaign| {
        let id = ("id".into(), Value::scalar(campaign.id.to_string()));
        let name = ("name".into(), Value::scalar(campaign.name.clone()));
        Value::Object([id, name].into_iter().collect())
    });
    for (name, value) in [
        ("user", Value::Object(user)),
        ("event", event),
        ("trigger", trigger),
        ("variables", Value::Object(variables)),
        ("campaign", campaign),
        ("unsubscribe_url", Value::scalar(outs.unsubscribe.clone())),
        ("preferences_url", Value::scalar(outs.preferences.clone())),
    ] {
        globals.insert(name.into(), value);
    }
    globals
}

/// The known fields of a profile besides its attributes.
fn profile(recipient: &Recipient) -> impl Iterator<Item = (&'static str, Value)> {
    let known = [
        ("id", recipient.user.map(|user| user.to_string())),
        ("externalId", recipient.external_id.clone()),
        ("email", recipient.email.clone()),
        ("phone", recipient.phone.clone()),
    ];
    let timezone = recipient.timezone.clone().map(|zone| ("timezone", Value::scalar(zone)));
    let known = known.into_iter().filter_map(|(name, text)| Some((name, Value::scalar(text?))));
    known.chain(timezone)
}

fn object(map: &Map<String, Json>) -> Object {
    map.iter().map(|(key, json)| (key.as_str().to_owned().into(), value(json))).collect()
}

/// JSON as a value of templates.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::scalar(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::scalar(whole),
            (None, Some(fraction)) => Value::scalar(fraction),
            (None, None) => Value::scalar(number.to_string()),
        },
        Json::String(text) => Value::scalar(text.clone()),
        Json::Array(items) => Value::Array(items.iter().map(value).collect()),
        Json::Object(map) => Value::Object(object(map)),
    }
}
