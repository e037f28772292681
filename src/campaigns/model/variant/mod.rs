//! The variants of a campaign: the parts of its audience and their content.
//!
//! Drafts are saved incomplete, so missing fields are left to the checks before a launch; invalid ones are
//! refused at once. The sum of weights is one of those checks.

#[cfg(test)]
mod tests;

use kernel::fields::Fields;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    CampaignChannel,
    in_app::InAppContent,
    message::{self, Message},
    words::{self, plain_number},
};

pub const VARIANTS_MAX: usize = 8;
pub const ID_CHARS_MAX: usize = 64;
pub const NAME_CHARS_MAX: usize = 255;
/// The largest weight, and the required sum.
pub const WEIGHT_MAX: f64 = 100.0;

/// A part of the audience, and its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Variant {
    /// Identifies the variant in statistics; unique in the campaign.
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$"
    )]
    pub id: String,
    #[schema(min_length = 1, max_length = 255)]
    pub name: String,
    /// Its share of the audience: 0 to 100.
    #[serde(serialize_with = "plain_number")]
    #[schema(minimum = 0, maximum = 100)]
    pub weight: f64,
    /// Its message, by channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Content of an in-app message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_content: Option<InAppContent>,
    /// Whether it is the control group, which gets no message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_control_group: Option<bool>,
}

impl Variant {
    /// Reads a variant of a campaign on this channel.
    pub fn read(body: &mut Fields<'_>, channel: CampaignChannel) -> Self {
        let in_app = channel == CampaignChannel::InApp;
        Self {
            id: words::named(body.required("id"), ID_CHARS_MAX),
            name: body.required("name").text(1..=NAME_CHARS_MAX),
            weight: body.required("weight").number(0.0..=WEIGHT_MAX),
            message: only(body, "message", !in_app)
                .then(|| {
                    body.optional("message").object_by(|message| Message::read(message, channel))
                })
                .flatten(),
            custom_content: only(body, "customContent", in_app)
                .then(|| body.optional("customContent").object())
                .flatten(),
            is_control_group: body.optional("isControlGroup").bool(),
        }
    }

    pub fn is_control(&self) -> bool {
        self.is_control_group.unwrap_or_default()
    }
}

/// Whether the field belongs to this channel; elsewhere it must be empty.
fn only(body: &mut Fields<'_>, name: &str, is_its: bool) -> bool {
    let sent = body.optional(name).unchecked();
    let is_empty = sent.is_null() || sent.as_object().is_some_and(serde_json::Map::is_empty);
    if !is_its && !is_empty {
        let problem = if name == "message" {
            "is not for the channel in_app: its content is customContent"
        } else {
            "is for the channel in_app alone"
        };
        body.refuse(name, problem);
    }
    is_its
}

/// Reads the field `variants` of a campaign on this channel: at least one, except for `in_app`.
pub fn list(body: &mut Fields<'_>, channel: CampaignChannel) -> Vec<Variant> {
    let read = |item: kernel::fields::Field<'_, kernel::fields::Required>| {
        item.object_by(|variant| Variant::read(variant, channel))
    };
    let variants = if channel == CampaignChannel::InApp {
        body.optional("variants").list(0..=VARIANTS_MAX, read).unwrap_or_default()
    } else {
        body.required("variants").list(1..=VARIANTS_MAX, read)
    };
    for (at, variant) in variants.iter().enumerate() {
        let earlier = || variants.iter().take(at);
        if !variant.id.is_empty() && earlier().any(|earlier| earlier.id == variant.id) {
            body.refuse(
                &format!("variants[{at}].id"),
                "must be unlike those of the other variants",
            );
        }
        if variant.is_control() && earlier().any(Variant::is_control) {
            let path = format!("variants[{at}].isControlGroup");
            body.refuse(&path, "must be true for one variant at most");
        }
    }
    variants
}

/// Prepares the variants of a stored campaign on this channel for being read back; see
/// [`message::keep_shape`].
pub fn keep_shapes(variants: &mut Value, channel: CampaignChannel) {
    for variant in variants.as_array_mut().into_iter().flatten() {
        if let Some(message) = variant.get_mut("message").and_then(Value::as_object_mut) {
            message::keep_shape(message, channel);
        }
    }
}
