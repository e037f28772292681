//! `conversionTracking`: the events that count as conversions, and the attribution window.

use audience::model::condition::Condition;
use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{EVENT_NAME_CHARS_MAX, conditions, whole};

pub const SECONDARY_CONVERSIONS_MAX: usize = 10;
/// Longest attribution window, in hours: thirty days.
pub const WINDOW_HOURS_MAX: u32 = 720;
/// Default attribution window, in hours.
pub const WINDOW_HOURS_DEFAULT: u32 = 72;

/// Which of several messages a conversion is credited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttributionModel {
    /// The earliest in the window.
    FirstTouch,
    /// The latest in the window.
    #[default]
    LastTouch,
    /// All in the window, in equal parts.
    Linear,
}

impl AttributionModel {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("first_touch", Self::FirstTouch),
        ("last_touch", Self::LastTouch),
        ("linear", Self::Linear),
    ];
}

/// An event that counts as a conversion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conversion {
    /// The name of the event.
    #[schema(min_length = 1, max_length = 255)]
    pub event_name: String,
    /// Conditions on the event's properties; all must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub conditions: Option<Vec<Condition>>,
}

impl FromFields for Conversion {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            event_name: body.required("eventName").text(1..=EVENT_NAME_CHARS_MAX),
            conditions: conditions(body),
        }
    }
}

/// The conversions of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversionTracking {
    /// The conversion that decides A/B tests and rates.
    pub primary_conversion: Conversion,
    /// Up to 10 that are reported in addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 10)]
    pub secondary_conversions: Option<Vec<Conversion>>,
    /// Hours from a message to a conversion, 1 to 720; default 72.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 720)]
    pub conversion_window_hours: Option<u32>,
    /// If absent, the model is `last_touch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribution_model: Option<AttributionModel>,
}

impl FromFields for ConversionTracking {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            primary_conversion: body.required("primaryConversion").object(),
            secondary_conversions: body
                .optional("secondaryConversions")
                .objects(0..=SECONDARY_CONVERSIONS_MAX),
            conversion_window_hours: whole(
                body.optional("conversionWindowHours"),
                1..=WINDOW_HOURS_MAX,
            ),
            attribution_model: body.optional("attributionModel").one_of(AttributionModel::NAMED),
        }
    }
}

impl ConversionTracking {
    pub fn window_hours(&self) -> u32 {
        self.conversion_window_hours.unwrap_or(WINDOW_HOURS_DEFAULT)
    }

    pub fn attribution_model(&self) -> AttributionModel {
        self.attribution_model.unwrap_or_default()
    }

    pub fn secondary(&self) -> &[Conversion] {
        self.secondary_conversions.as_deref().unwrap_or_default()
    }
}
