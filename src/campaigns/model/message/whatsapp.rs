//! A WhatsApp message: an approved template, or a reply within the 24 hours after the contact wrote.

use kernel::fields::Fields;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::super::words;

/// Characters of `templateId`: Meta allows 512 for a name.
const TEMPLATE_ID_CHARS_MAX: usize = 512;
const WABA_ID_CHARS_MAX: usize = 64;
/// Bytes of `variableMapping` in compact form.
const MAPPING_BYTES_MAX: usize = 16 << 10;
/// Characters of `replyText`: Meta allows a text 4,096.
const REPLY_CHARS_MAX: usize = 4_096;

/// The type of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageType {
    /// A template that Meta approved.
    #[default]
    Template,
    Reply,
}

const MESSAGE_TYPES: &[(&str, MessageType)] =
    &[("template", MessageType::Template), ("reply", MessageType::Reply)];

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatsappMessage {
    /// A template by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_type: Option<MessageType>,
    /// The template's name at Meta.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 512, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub template_id: Option<String>,
    /// The WhatsApp Business account of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub waba_id: Option<String>,
    /// The template's variables by their number or name; every string is Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable_mapping: Option<Map<String, Value>>,
    /// The text of a reply: Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub reply_text: Option<String>,
}

impl WhatsappMessage {
    pub(super) const FIELDS: &'static [&'static str] =
        &["messageType", "templateId", "wabaId", "variableMapping", "replyText"];

    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        Self {
            message_type: body.optional("messageType").one_of(MESSAGE_TYPES),
            template_id: words::line(body.optional("templateId"), TEMPLATE_ID_CHARS_MAX),
            waba_id: words::line(body.optional("wabaId"), WABA_ID_CHARS_MAX),
            variable_mapping: words::templated_object(body, "variableMapping", MAPPING_BYTES_MAX),
            reply_text: words::templated(body.optional("replyText"), REPLY_CHARS_MAX),
        }
    }
}
