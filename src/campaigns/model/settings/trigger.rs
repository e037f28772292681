//! `triggerConfig`: the event that starts a triggered campaign for its person.

use audience::model::condition::Condition;
use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{EVENT_NAME_CHARS_MAX, conditions, whole};

/// Longest time before a person may enter again, in hours: a year.
pub const COOLDOWN_HOURS_MAX: u32 = 8760;
/// Longest delay between the event and the message, in minutes: thirty days.
pub const DELAY_MINUTES_MAX: u32 = 43_200;

/// The type of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerType {
    #[default]
    Event,
}

impl TriggerType {
    pub const NAMED: &'static [(&'static str, Self)] = &[("event", Self::Event)];
}

/// Whether a person may enter a triggered campaign again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReEntry {
    #[default]
    Once,
    Always,
    /// After `cooldownHours` since the last entry.
    Cooldown,
}

impl ReEntry {
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("once", Self::Once), ("always", Self::Always), ("cooldown", Self::Cooldown)];
}

/// What starts a triggered campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerConfig {
    /// `event`, the only type and the default.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<TriggerType>,
    /// The name of the event.
    #[schema(min_length = 1, max_length = 255)]
    pub event_name: String,
    /// Conditions on the event's properties; all must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub conditions: Option<Vec<Condition>>,
    /// Default `once`. As a boolean: true is `always`, false is `once`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub re_entry: Option<ReEntry>,
    /// For the re-entry `cooldown`: 1 to 8760 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 8760)]
    pub cooldown_hours: Option<u32>,
    /// Minutes from the event to the message, 0 to 43,200; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 43200)]
    pub delay_minutes: Option<u32>,
}

impl FromFields for TriggerConfig {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let config = Self {
            kind: body.optional("type").one_of(TriggerType::NAMED),
            event_name: body.required("eventName").text(1..=EVENT_NAME_CHARS_MAX),
            conditions: conditions(body),
            re_entry: re_entry(body),
            cooldown_hours: whole(body.optional("cooldownHours"), 1..=COOLDOWN_HOURS_MAX),
            delay_minutes: whole(body.optional("delayMinutes"), 0..=DELAY_MINUTES_MAX),
        };
        let lasting = !body.optional("cooldownHours").unchecked().is_null();
        if config.re_entry == Some(ReEntry::Cooldown) && !lasting {
            body.refuse("cooldownHours", "is required for the reEntry cooldown");
        }
        config
    }
}

impl TriggerConfig {
    pub fn re_entry(&self) -> ReEntry {
        self.re_entry.unwrap_or_default()
    }

    pub fn delay_minutes(&self) -> u32 {
        self.delay_minutes.unwrap_or(0)
    }
}

fn re_entry(body: &mut Fields<'_>) -> Option<ReEntry> {
    match body.optional("reEntry").unchecked() {
        Value::Bool(true) => Some(ReEntry::Always),
        Value::Bool(false) => Some(ReEntry::Once),
        _ => body.optional("reEntry").one_of(ReEntry::NAMED),
    }
}
