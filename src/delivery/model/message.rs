//! A message as it is kept: what it is for, how it begins, and the id that only it can have.

use campaigns::model::message::MessageChannel;
use kernel::{CampaignId, MessageId, Timestamp, UserId};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::skip::Skip;

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// One of a campaign's.
    Campaign,
    /// Asked for by itself.
    Transactional,
    /// To look at a campaign; counted nowhere.
    Test,
    /// Asks whether somebody really wants to subscribe.
    Confirmation,
}

impl Purpose {
    pub const ALL: [Self; 4] =
        [Self::Campaign, Self::Transactional, Self::Test, Self::Confirmation];

    /// The purpose as the store writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Campaign => "campaign",
            Self::Transactional => "transactional",
            Self::Test => "test",
            Self::Confirmation => "confirmation",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.as_str() == text)
    }
}

/// The channels of messages.
pub const CHANNELS: [MessageChannel; 6] = [
    MessageChannel::Email,
    MessageChannel::Sms,
    MessageChannel::Viber,
    MessageChannel::Push,
    MessageChannel::Whatsapp,
    MessageChannel::Webhook,
];

/// The channel of a message as the stores write it.
pub const fn channel_name(channel: MessageChannel) -> &'static str {
    match channel {
        MessageChannel::Email => "email",
        MessageChannel::Sms => "sms",
        MessageChannel::Viber => "viber",
        MessageChannel::Push => "push",
        MessageChannel::Whatsapp => "whatsapp",
        MessageChannel::Webhook => "webhook",
    }
}

pub fn channel_named(name: &str) -> Option<MessageChannel> {
    CHANNELS.into_iter().find(|channel| channel_name(*channel) == name)
}

/// How a message begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    Queued {
        due: Timestamp,
        /// Not after this; held back for longer it is dropped.
        expires: Option<Timestamp>,
    },
    /// Not sent, and settled thereby.
    Skipped(Skip),
    /// Not sent, to measure the others by.
    Control,
}

/// A message to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Of a campaign's message [`message_id`], else minted.
    pub id: MessageId,
    /// What it is for.
    pub purpose: Purpose,
    /// Whose message it is, if a campaign's or a test of one.
    pub campaign: Option<CampaignId>,
    /// Which time the campaign goes out; of a triggered one which entry of the recipient it is.
    pub occurrence: i32,
    /// Whom it is for; nobody where a test goes to a bare address.
    pub user: Option<UserId>,
    /// What it goes out on.
    pub channel: MessageChannel,
    /// Which variant; none where that is drawn when it leaves.
    pub variant: Option<String>,
    /// What rendering needs beside the campaign and the profile.
    pub context: Option<Value>,
    pub start: Start,
}

/// The id of a campaign's message to a recipient: the same however often it is worked out (UUIDv8 of a
/// SHA-256), so that what is written down or told twice is once there. In their order messages are
/// strewn by chance, which is what decides whom a volume limit leaves out.
pub fn message_id(campaign: CampaignId, occurrence: i32, user: &UserId) -> MessageId {
    let digest = Sha256::new()
        .chain_update(campaign.uuid().as_bytes())
        .chain_update(occurrence.to_be_bytes())
        .chain_update(user.bytes())
        .finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    MessageId::new(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

/// The campaign in a message event: nil for none.
pub fn campaign_uuid(campaign: Option<CampaignId>) -> Uuid {
    campaign.map_or(Uuid::nil(), CampaignId::uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for purpose in Purpose::ALL {
            assert_eq!(Purpose::parse(purpose.as_str()), Some(purpose));
        }
        for channel in CHANNELS {
            assert_eq!(channel_named(channel_name(channel)), Some(channel));
            assert_eq!(serde_json::json!(channel), channel_name(channel));
        }
        assert_eq!(Purpose::parse("Campaign"), None);
        assert_eq!(channel_named("in_app"), None);
    }

    #[test]
    fn an_id_is_of_one_recipient_at_one_occurrence_of_one_campaign() {
        let campaign = |n: u128| CampaignId::new(Uuid::from_u128(n));
        let user = |n: u8| UserId::from_bytes([n; 12]);
        let id = message_id(campaign(1), 1, &user(1));
        assert_eq!(id, message_id(campaign(1), 1, &user(1)));
        assert_eq!(id.uuid().get_version_num(), 8);
        for other in [
            message_id(campaign(2), 1, &user(1)),
            message_id(campaign(1), 2, &user(1)),
            message_id(campaign(1), 1, &user(2)),
        ] {
            assert_ne!(id, other);
        }
    }
}
