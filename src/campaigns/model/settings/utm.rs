//! `utmSettings`: the UTM parameters of a campaign's links. A parameter that a link already has stays.

use content::template::{Form, Template};
use kernel::fields::{Field, Fields, FromFields, Optional};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Characters of a parameter's template.
pub const UTM_CHARS_MAX: usize = 255;

/// The UTM parameters of a campaign's links; each may be a Liquid template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UtmSettings {
    /// Whether parameters are added; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub medium: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub campaign: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub term: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub content: Option<String>,
}

impl FromFields for UtmSettings {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            enabled: body.optional("enabled").bool(),
            source: tag(body.optional("source")),
            medium: tag(body.optional("medium")),
            campaign: tag(body.optional("campaign")),
            term: tag(body.optional("term")),
            content: tag(body.optional("content")),
        }
    }
}

impl UtmSettings {
    pub fn is_enabled(&self) -> bool {
        self.enabled != Some(false)
    }
}

fn tag(field: Field<'_, Optional>) -> Option<String> {
    field.parsed(String::new(), |text| {
        if text.chars().count() > UTM_CHARS_MAX {
            return Err(format!("must be at most {UTM_CHARS_MAX} characters"));
        }
        // A parameter becomes part of an address; it is percent-encoded there, not here.
        Template::parse(text, Form::Text).map_err(|fault| fault.to_string())?;
        Ok(text.to_owned())
    })
}
