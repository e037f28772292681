//! `channelConfig` of in-app messages: layout, triggers, frequency, platforms and period.

use audience::model::condition::Condition;
use kernel::{
    DayEdge,
    fields::{Fields, FromFields},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ChannelConfig, Priority, platforms};
use crate::model::settings::{EVENT_NAME_CHARS_MAX, conditions, whole};

pub const TRIGGERS_MAX: usize = 10;
/// Longest delay between a trigger and the display, in seconds: an hour.
const DELAY_SECONDS_MAX: u32 = 3600;
/// Largest number of displays to one person.
const DISPLAYS_MAX: u32 = 10_000;
/// Longest time between two displays, in hours: a year.
const HOURS_BETWEEN_MAX: u32 = 8760;
pub(super) const PRIORITY_MAX: u32 = 1000;
const WEB_APPS_MAX: usize = 50;
const WEB_APP_CHARS_MAX: usize = 255;

/// The layout of an in-app message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum InAppType {
    /// A card in the middle.
    #[default]
    Modal,
    /// A strip at an edge.
    Banner,
    Fullscreen,
    /// A card that slides in from below.
    Slideup,
}

impl InAppType {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("modal", Self::Modal),
        ("banner", Self::Banner),
        ("fullscreen", Self::Fullscreen),
        ("slideup", Self::Slideup),
    ];
}

/// The kind of a trigger of an in-app message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InAppTriggerKind {
    /// The app is opened.
    SessionStart,
    /// An event of the given name happens.
    Event,
    /// A page is opened.
    PageView,
}

impl InAppTriggerKind {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("session_start", Self::SessionStart),
        ("event", Self::Event),
        ("page_view", Self::PageView),
    ];
}

/// A trigger of an in-app message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InAppTrigger {
    #[serde(rename = "type")]
    pub kind: InAppTriggerKind,
    /// For `event`: the name of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255)]
    pub event_name: Option<String>,
    /// Conditions on the properties of the event or page; all must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub conditions: Option<Vec<Condition>>,
    /// Delay of the display, 0 to 3600 seconds; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 3600)]
    pub delay_seconds: Option<u32>,
}

impl FromFields for InAppTrigger {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let trigger = Self {
            kind: body.required("type").one_of(InAppTriggerKind::NAMED),
            event_name: body.optional("eventName").text(1..=EVENT_NAME_CHARS_MAX),
            conditions: conditions(body),
            delay_seconds: whole(body.optional("delaySeconds"), 0..=DELAY_SECONDS_MAX),
        };
        let nameless = body.optional("eventName").unchecked().is_null();
        if trigger.kind == InAppTriggerKind::Event && nameless {
            body.refuse("eventName", "is required for the type event");
        }
        trigger
    }
}

/// How often one person sees an in-app message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisplayFrequency {
    /// Displays to one person, 1 to 10,000; unlimited by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10000)]
    pub max_per_user: Option<u32>,
    /// Hours between two displays, 0 to 8760; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 8760)]
    pub min_hours_between: Option<u32>,
}

impl FromFields for DisplayFrequency {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            max_per_user: whole(body.optional("maxPerUser"), 1..=DISPLAYS_MAX),
            min_hours_between: whole(body.optional("minHoursBetween"), 0..=HOURS_BETWEEN_MAX),
        }
    }
}

pub(super) fn read(body: &mut Fields<'_>) -> ChannelConfig {
    let priority = whole(body.optional("priority"), 0..=PRIORITY_MAX);
    let config = ChannelConfig {
        kind: body.optional("type").one_of(InAppType::NAMED),
        triggers: body.optional("triggers").objects(0..=TRIGGERS_MAX),
        display_frequency: body.optional("displayFrequency").object(),
        priority: priority.and_then(|number| i32::try_from(number).ok()).map(Priority::InApp),
        start_at: body.optional("startAt").timestamp(DayEdge::Start),
        end_at: body.optional("endAt").timestamp(DayEdge::End),
        platforms: platforms(body.optional("platforms")),
        web_app_ids: body
            .optional("webAppIds")
            .list(1..=WEB_APPS_MAX, |item| item.text(1..=WEB_APP_CHARS_MAX)),
        ..ChannelConfig::default()
    };
    let backwards = config.start_at.zip(config.end_at).is_some_and(|(start, end)| start >= end);
    if backwards {
        body.refuse("endAt", "must be after startAt");
    }
    config
}
