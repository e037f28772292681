//! A Viber message: gateways send approved templates with variables.
//!
//! The API's specification has no fields for it in a variant. These are the fields of a transactional send
//! (`viberTemplateId`, `variables`) and a text for gateways without templates.

use kernel::fields::Fields;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{super::words, sms};

const TEMPLATE_ID_CHARS_MAX: usize = 255;
/// Bytes of `variables` in compact form.
const VARIABLES_BYTES_MAX: usize = 16 << 10;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViberMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub template_id: Option<String>,
    /// The template's variables by name; every string is Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variables: Option<Map<String, Value>>,
    /// The text if there is no template: Liquid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 5000)]
    pub body: Option<String>,
}

impl ViberMessage {
    pub(super) const FIELDS: &'static [&'static str] = &["templateId", "variables", "body"];

    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        Self {
            template_id: words::line(body.optional("templateId"), TEMPLATE_ID_CHARS_MAX),
            variables: words::templated_object(body, "variables", VARIABLES_BYTES_MAX),
            body: words::templated(body.optional("body"), sms::BODY_CHARS_MAX),
        }
    }
}
