//! The three ledgers, and the scopes that permit access to them.

use kernel::Channel;
use serde::Serialize;
use utoipa::ToSchema;
use web::auth::ScopeName;

/// The ledger of a channel. Push and Viber have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ledger {
    Email,
    /// Phone numbers that get no text messages.
    Sms,
    /// Phone numbers that get no WhatsApp messages.
    Whatsapp,
}

/// How a request uses a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl Ledger {
    /// The names of the ledgers in bodies and queries.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("email", Self::Email), ("sms", Self::Sms), ("whatsapp", Self::Whatsapp)];

    /// The ledger with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, ledger)| *ledger)
    }

    /// The ledger that mirrors a channel's opt-outs.
    pub const fn of(channel: Channel) -> Option<Self> {
        match channel {
            Channel::Email => Some(Self::Email),
            Channel::Sms => Some(Self::Sms),
            Channel::Whatsapp => Some(Self::Whatsapp),
            Channel::Push | Channel::Viber => None,
        }
    }

    /// The ledger as the API and the database write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Sms => "sms",
            Self::Whatsapp => "whatsapp",
        }
    }

    /// The scope that permits this access.
    pub const fn scope(self, access: Access) -> ScopeName {
        match (self, access) {
            (Self::Email, Access::Read) => ScopeName::EmailSuppressionRead,
            (Self::Email, Access::Write) => ScopeName::EmailSuppressionWrite,
            (Self::Sms | Self::Whatsapp, Access::Read) => ScopeName::SmsSuppressionRead,
            (Self::Sms | Self::Whatsapp, Access::Write) => ScopeName::SmsSuppressionWrite,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_has_the_name_of_its_channel() {
        for channel in Channel::ALL {
            let ledger = Ledger::of(channel);
            assert_eq!(ledger, Ledger::named(channel.as_str()), "{channel}");
            assert!(ledger.is_none_or(|ledger| ledger.as_str() == channel.as_str()));
        }
    }
}
