//! What rendering a message needs beside the campaign and the profile: the column `message.context`.
//!
//! A message of a campaign may have none, or the event that triggered it. A message of no campaign has its whole
//! content ([`StoredContent`]), so that later edits do not change it.

use campaigns::model::{
    message::MessageChannel,
    settings::{channel_config::ChannelConfig, utm::UtmSettings},
};
use kernel::{CampaignId, ListId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The context of a message. Unknown fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The triggering event: `name`, `properties`, `timestamp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Value>,
    /// The `triggerData` of a transactional send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Value>,
    /// The `variables` of a Viber message of no campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Map<String, Value>>,
    /// The address of a test, where it is not the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The content of a message of no running campaign. The field in the database has an older name.
    #[serde(rename = "said", default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<StoredContent>>,
}

/// The content of a message that belongs to no running campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredContent {
    /// The channel it is sent on.
    pub channel: MessageChannel,
    /// The message, in the shape of a variant's on that channel.
    pub message: Value,
    /// The settings of the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Box<ChannelConfig>>,
    /// The tags of its links.
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
    /// Whether it is marketing, which needs a way to unsubscribe.
    #[serde(default)]
    pub is_marketing: bool,
}

/// A campaign by its id and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub id: CampaignId,
    pub name: String,
}
