//! The channels a contact consents to.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::MalformedId;

/// A way to reach a contact that needs consent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// Email, to an address.
    Email,
    /// Text messages, to a phone number.
    Sms,
    /// WhatsApp, to a phone number.
    Whatsapp,
    /// Push notifications, to devices.
    Push,
    /// Viber, to a phone number.
    Viber,
}

impl Channel {
    /// Every channel, in the order of the specification.
    pub const ALL: [Self; 5] = [Self::Email, Self::Sms, Self::Whatsapp, Self::Push, Self::Viber];

    /// The names and what they stand for, as readers of bodies and queries take them.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("email", Self::Email),
        ("sms", Self::Sms),
        ("whatsapp", Self::Whatsapp),
        ("push", Self::Push),
        ("viber", Self::Viber),
    ];

    /// The channel as the API and the stores write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Sms => "sms",
            Self::Whatsapp => "whatsapp",
            Self::Push => "push",
            Self::Viber => "viber",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Channel {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, MalformedId> {
        Self::ALL
            .into_iter()
            .find(|channel| channel.as_str() == text)
            .ok_or(MalformedId::new("one of email, sms, whatsapp, push, viber"))
    }
}

/// Some of the channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChannelSet(u8);

impl ChannelSet {
    /// Whether a channel is one of them.
    pub const fn contains(self, channel: Channel) -> bool {
        self.0 & Self::bit(channel) != 0
    }

    const fn bit(channel: Channel) -> u8 {
        1 << channel as u8
    }
}

impl FromIterator<Channel> for ChannelSet {
    fn from_iter<I: IntoIterator<Item = Channel>>(channels: I) -> Self {
        Self(channels.into_iter().fold(0, |set, channel| set | Self::bit(channel)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_what_it_was_made_of() {
        let set: ChannelSet = [Channel::Sms, Channel::Viber].into_iter().collect();
        let contained = Channel::ALL.into_iter().filter(|channel| set.contains(*channel));
        assert!(contained.eq([Channel::Sms, Channel::Viber]));
    }

    #[test]
    fn every_channel_reads_back_what_it_writes() {
        for channel in Channel::ALL {
            assert_eq!(channel.to_string().parse(), Ok(channel));
            assert_eq!(serde_json::to_value(channel).unwrap(), channel.as_str());
            assert!(Channel::NAMED.contains(&(channel.as_str(), channel)));
        }
        assert!("Email".parse::<Channel>().is_err());
        assert!("in_app".parse::<Channel>().is_err());
    }
}
