//! Stored messages: their purposes, initial statuses and ids.

use campaigns::model::message::MessageChannel;
use kernel::{CampaignId, MessageId, Timestamp, UserId};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::skip::Skip;

/// The purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    Campaign,
    Transactional,
    /// A test of a campaign, which no report counts.
    Test,
    /// The confirmation of a subscription (double opt-in).
    Confirmation,
}

impl Purpose {
    pub const ALL: [Self; 4] =
        [Self::Campaign, Self::Transactional, Self::Test, Self::Confirmation];

    /// The name of the purpose in the database.
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

/// The name of a message's channel in the databases.
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

/// The initial status of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    Queued {
        due: Timestamp,
        /// A message deferred beyond this is skipped.
        expires: Option<Timestamp>,
    },
    /// Not sent, because of a rule.
    Skipped(Skip),
    /// Not sent, because the recipient is in the control group: it is settled when it would have been sent.
    Control { due: Timestamp },
}

/// A message to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// [`message_id`] for a message of a campaign, else random.
    pub id: MessageId,
    pub purpose: Purpose,
    /// The campaign of the message or of the test.
    pub campaign: Option<CampaignId>,
    /// The run of the campaign; for a triggered campaign, the number of the recipient's entry.
    pub occurrence: i32,
    /// Its recipient; none if a test is sent to a bare address.
    pub user: Option<UserId>,
    pub channel: MessageChannel,
    /// The variant; none if it is drawn when the message is sent.
    pub variant: Option<String>,
    /// The context of rendering ([`super::Context`]).
    pub context: Option<Value>,
    pub start: Start,
}

/// The id of a campaign's message to a recipient: a UUIDv8 of a SHA-256, so that a message that is stored or published
/// twice exists once. The order of ids is random; it decides which recipients a volume limit leaves out.
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
