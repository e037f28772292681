//! A push notification.

use kernel::fields::Fields;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::super::words;

const TITLE_CHARS_MAX: usize = 1_000;
const BODY_CHARS_MAX: usize = 4_000;
const ADDRESS_CHARS_MAX: usize = 2_048;
/// Bytes of `data` in compact form: APNs and FCM allow 4 KiB.
const DATA_BYTES_MAX: usize = 4 << 10;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1000)]
    pub title: Option<String>,
    /// The text, a Liquid template.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4000)]
    pub body: Option<String>,
    /// The icon: an address, or a resource name in the app; Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub icon: Option<String>,
    /// A picture: an http or https address; Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub image: Option<String>,
    /// Data for the app; every string is Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Map<String, Value>>,
}

impl PushMessage {
    pub(super) const FIELDS: &'static [&'static str] = &["title", "body", "icon", "image", "data"];

    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        Self {
            title: words::templated(body.optional("title"), TITLE_CHARS_MAX),
            body: words::templated(body.optional("body"), BODY_CHARS_MAX),
            icon: words::header(body.optional("icon"), ADDRESS_CHARS_MAX),
            image: words::web_address(body.optional("image"), ADDRESS_CHARS_MAX),
            data: words::templated_object(body, "data", DATA_BYTES_MAX),
        }
    }
}
