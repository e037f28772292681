//! A text message.

use kernel::fields::Fields;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::words;

/// Characters of `body` before rendering.
pub(super) const BODY_CHARS_MAX: usize = 5_000;
const FROM_CHARS_MAX: usize = 64;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SmsMessage {
    /// The text, a Liquid template.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 5000)]
    pub body: Option<String>,
    /// The sender: a number, a short code or a name known to the provider; Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub from: Option<String>,
    /// Whether links in it are shortened; false by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shorten_links: Option<bool>,
}

impl SmsMessage {
    pub(super) const FIELDS: &'static [&'static str] = &["body", "from", "shortenLinks"];

    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        Self {
            body: words::templated(body.optional("body"), BODY_CHARS_MAX),
            from: words::header(body.optional("from"), FROM_CHARS_MAX),
            shorten_links: body.optional("shortenLinks").bool(),
        }
    }
}
