//! A message as it is sent to a provider.

use kernel::{CampaignId, MessageId, UserId, WorkspaceId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Content, Reference};

/// One message for one recipient.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The provider's idempotency key: the same in every attempt.
    pub id: MessageId,
    pub workspace: WorkspaceId,
    /// The recipient; none for a test to an address without a profile.
    pub user: Option<UserId>,
    /// The caller's id of the recipient.
    pub external_id: Option<String>,
    /// The campaign; none for a transactional message.
    pub campaign: Option<CampaignId>,
    pub variant: Option<String>,
    /// The address: an email address, a phone number, for push without devices the external id, for a
    /// webhook its URL.
    pub to: String,
    /// For push: the devices it goes to.
    pub devices: Vec<Device>,
    pub content: Content,
}

impl From<&Outgoing> for Reference {
    fn from(message: &Outgoing) -> Self {
        Self { workspace: message.workspace, message: message.id }
    }
}

/// A device that receives push notifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// The provider's id of it: a registration token; for web push the endpoint's URL.
    pub token: String,
    pub platform: Platform,
    /// Web push: the browser's public key `p256dh`, base64url.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p256dh: Option<String>,
    /// Web push: the browser's `auth` secret, base64url.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
}

/// The system that a device runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = DevicePlatform)]
pub enum Platform {
    Ios,
    Android,
    Web,
}

impl Platform {
    /// Every platform by its name.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("ios", Self::Ios), ("android", Self::Android), ("web", Self::Web)];

    /// The platform as the API and the store write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ios => "ios",
            Self::Android => "android",
            Self::Web => "web",
        }
    }

    /// The platform with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, platform)| *platform)
    }
}

/// A device as an app registers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDevice {
    pub user: UserId,
    pub device: Device,
    /// The app that registered it.
    pub app_id: Option<String>,
    /// Whether it was registered with a user token.
    pub is_proven: bool,
}
