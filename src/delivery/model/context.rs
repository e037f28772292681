//! What rendering a message needs beside the campaign and the profile: the column `message.context`.
//!
//! A message of a campaign may have none, or the event that set it off. One of no campaign brings
//! everything it says ([`Said`]), so that what was asked for is what leaves, whatever is edited meanwhile.

use campaigns::model::{
    message::MessageChannel,
    settings::{channel_config::ChannelConfig, utm::UtmSettings},
};
use kernel::{CampaignId, ListId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a message brings along. Fields of others beside these are left alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The event that set it off: `name`, `properties`, `timestamp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Value>,
    /// The `triggerData` of a transactional send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Value>,
    /// The `variables` of a Viber message of no campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Map<String, Value>>,
    /// The address a test goes to, where it is not the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What it says, where no campaign says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Box<Said>>,
}

/// What a message says that belongs to no running campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    /// What it goes out on.
    pub channel: MessageChannel,
    /// The message, in the shape of a variant's on that channel.
    pub message: Value,
    /// What the channel needs to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Box<ChannelConfig>>,
    /// How links are tagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utm: Option<Box<UtmSettings>>,
    /// The campaign that a test is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<Named>,
    /// The variant that a test is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The list that a test's campaign is sent under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListId>,
    /// Whether it is news or offers, which nobody has to take.
    #[serde(default)]
    pub is_marketing: bool,
}

/// A campaign by its id and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub id: CampaignId,
    pub name: String,
}
