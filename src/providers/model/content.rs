//! What a message says, rendered for one recipient, in the shape of its channel.
//!
//! Written out it is the `message` of the generic gateway, so absent fields are left out.

use std::collections::BTreeMap;

use campaigns::model::message::{Auth, BodyType, Method};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a message says.
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
    /// The sender, `address` or `name <address>`; the channel's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The domain of a workspace's own that it is sent from, to be signed for, too.
    #[serde(skip)]
    pub signing_domain: Option<String>,
    /// The sender's name, where `from` is absent: it goes before the channel's own address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_name: Option<String>,
    /// A template kept by the provider, where there is neither `html` nor `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    pub subject: String,
    /// The HTML part, its links and pixel in place.
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
    /// The sender; the channel's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Seconds delivery is tried.
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
    /// What the app gets with it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
    /// Seconds delivery is tried; 0 is now or never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
    /// Whether it may wake a sleeping device; `high` unless set to `normal`.
    pub high_priority: bool,
    /// Of several with one key a device shows the last.
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
    /// Which of the account's numbers it comes from; the channel's where absent.
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
    /// The text where there is no template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Which sender it comes from; the channel's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_id: Option<String>,
    /// Seconds delivery is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
}

/// A call of somebody's own endpoint.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookContent {
    pub url: String,
    pub method: Method,
    pub headers: BTreeMap<String, String>,
    /// The body as it is sent; none for GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// What the body is.
    pub body_type: BodyType,
    #[serde(skip)]
    pub auth: Auth,
    /// Milliseconds an answer is awaited.
    pub timeout_ms: u32,
}
