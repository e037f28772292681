//! `channelConfig` of in-app messages: their shape, what makes them appear, how often, where and when.

use contacts::audience::model::condition::Condition;
use kernel::{
    DayEdge,
    fields::{Fields, FromFields},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ChannelConfig, Priority, platforms};
use crate::model::settings::{EVENT_NAME_CHARS_MAX, conditions, whole};

/// Triggers of one message.
pub const TRIGGERS_MAX: usize = 10;
/// Longest delay between a trigger and the message, in seconds: an hour.
const DELAY_SECONDS_MAX: u32 = 3600;
/// Most displays that a frequency may allow one person.
const DISPLAYS_MAX: u32 = 10_000;
/// Longest time between two displays, in hours: a year.
const HOURS_BETWEEN_MAX: u32 = 8760;
const PRIORITY_MAX: u32 = 1000;
/// Web apps of one message.
const WEB_APPS_MAX: usize = 50;
/// Characters of a web app's id.
const WEB_APP_CHARS_MAX: usize = 255;

/// The shape of an in-app message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum InAppType {
    /// A card in the middle.
    #[default]
    Modal,
    /// A strip at an edge.
    Banner,
    Fullscreen,
    /// A card that comes in from below.
    Slideup,
}

impl InAppType {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("modal", Self::Modal),
        ("banner", Self::Banner),
        ("fullscreen", Self::Fullscreen),
        ("slideup", Self::Slideup),
    ];
}

/// What makes an in-app message appear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InAppTriggerKind {
    /// The app is opened.
    SessionStart,
    /// The person does something.
    Event,
    /// The person comes to a page.
    PageView,
}

impl InAppTriggerKind {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("session_start", Self::SessionStart),
        ("event", Self::Event),
        ("page_view", Self::PageView),
    ];
}

/// One thing that makes an in-app message appear.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InAppTrigger {
    #[serde(rename = "type")]
    pub kind: InAppTriggerKind,
    /// For `event`: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255)]
    pub event_name: Option<String>,
    /// What must hold of the event's or page's properties, all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub conditions: Option<Vec<Condition>>,
    /// How long after, 0 to 3600 seconds; at once without a word.
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
        let nameless = body.optional("eventName").unjudged().is_null();
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
    /// Displays to one person, 1 to 10,000; as many as there are occasions without a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10000)]
    pub max_per_user: Option<u32>,
    /// Hours from one display to the next, 0 to 8760; none without a word.
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
