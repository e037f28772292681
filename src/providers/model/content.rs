//! The content of a message, rendered for one recipient, by channel.
//!
//! Serialized, it is the `message` of the generic gateway, so absent fields are left out.

use std::collections::BTreeMap;

use campaigns::model::message::{Auth, BodyType, Method};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The rendered content of a message, by channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    Email(EmailContent),
    Sms(SmsContent),
    Push(PushContent),
    Whatsapp(WhatsappContent),
    Viber(ViberContent),
    Webhook(WebhookContent),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmailContent {
    /// The sender, `address` or `name <address>`; the channel's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The workspace's own domain that it is sent from; it is signed for this domain, too.
    #[serde(skip)]
    pub signing_domain: Option<String>,
    /// The sender's name before the channel's address, if `from` is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_name: Option<String>,
    /// A template at the provider, if there is neither `html` nor `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    pub subject: String,
    /// The HTML part, with tracked links and pixel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Further headers in order: `List-Unsubscribe`, `List-Unsubscribe-Post`, `List-ID`, `Precedence`, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmsContent {
    pub body: String,
    /// The sender; the channel's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Seconds for which delivery is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushContent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub body: String,
    /// Its icon: an address, or the name of one in the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// A picture in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What a tap opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep_link: Option<String>,
    /// Data that the app receives with it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
    /// Seconds for which delivery is tried; with 0 it is tried once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
    /// Whether it may wake a sleeping device; `high` unless set to `normal`.
    pub high_priority: bool,
    /// A device shows only the last message with this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collapse_key: Option<String>,
}

/// A WhatsApp message: a template with its variables, or the free text of a reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhatsappContent {
    /// The template's name at Meta.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_id: Option<String>,
    /// The business account the template belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waba_id: Option<String>,
    /// The template's variables by their number or name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub variables: Map<String, Value>,
    /// The text of a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_text: Option<String>,
    /// The account's number that sends it; the channel's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number_id: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViberContent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_id: Option<String>,
    /// Values of its fields by name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub variables: Map<String, Value>,
    /// The text, if there is no template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The sender; the channel's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_id: Option<String>,
    /// Seconds for which delivery is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
}

/// A request to an endpoint of the workspace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookContent {
    pub url: String,
    pub method: Method,
    pub headers: BTreeMap<String, String>,
    /// The body as it is sent; none for GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    pub body_type: BodyType,
    #[serde(skip)]
    pub auth: Auth,
    /// Milliseconds to wait for the answer.
    pub timeout_ms: u32,
}
