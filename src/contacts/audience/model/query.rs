//! A query of an audience, and its results.

use kernel::{Channel, ListId, UserId};

use super::Targeting;

/// An audience, and how it is to be reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct AudienceQuery<'a> {
    /// The matching profiles; every profile where absent.
    pub targeting: Option<&'a Targeting>,
    /// The channel, if it needs an address and consent. Without one every profile is reachable: an in-app message
    /// waits in the app, and a webhook goes to its own address.
    pub channel: Option<Channel>,
    /// The subscription list of the message: its opt-outs and suppressions apply.
    pub list: Option<ListId>,
}

/// A profile that an audience is checked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub user: UserId,
    pub external_id: Option<String>,
}

impl Person {
    /// The ids with which events of the profile may have been tracked.
    pub fn identifiers(&self) -> impl Iterator<Item = String> {
        std::iter::once(self.user.to_string()).chain(self.external_id.clone())
    }
}

/// Why a matching profile cannot be reached. Of several reasons the first in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exclusion {
    /// No email address, no phone number, or for push no external id.
    NoAddress,
    /// A hard bounce marked the address invalid, or the phone number is not valid.
    InvalidAddress,
    /// An opt-out of the channel or the list, or no opt-in where one is required.
    Unsubscribed,
    /// The address is suppressed, for every message or for the list.
    Suppressed,
}

/// Excluded profiles, each counted under one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Excluded {
    pub no_address: u64,
    pub invalid_address: u64,
    pub unsubscribed: u64,
    pub suppressed: u64,
}

impl Excluded {
    pub fn add(&mut self, reason: Exclusion, people: u64) {
        *match reason {
            Exclusion::NoAddress => &mut self.no_address,
            Exclusion::InvalidAddress => &mut self.invalid_address,
            Exclusion::Unsubscribed => &mut self.unsubscribed,
            Exclusion::Suppressed => &mut self.suppressed,
        } += people;
    }

    pub const fn total(&self) -> u64 {
        self.no_address + self.invalid_address + self.unsubscribed + self.suppressed
    }
}

/// The size of an audience: `matched` is the sum of `reachable` and `excluded`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measured {
    /// Active profiles that match the targeting.
    pub matched: u64,
    /// Matching profiles that a message can reach.
    pub reachable: u64,
    /// Matching profiles that no message can reach, by reason.
    pub excluded: Excluded,
}

/// The size of an audience on each channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MeasuredByChannel {
    /// Active profiles that match the targeting.
    pub matched: u64,
    /// Matching profiles that a message can reach, in the order of [`Channel::ALL`].
    pub reachable: [u64; Channel::ALL.len()],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    pub user: UserId,
    /// Why no message can reach it; `None` where one can.
    pub excluded: Option<Exclusion>,
}

/// A matching profile that a message can reach, with the facts that give its local time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    pub user: UserId,
    pub external_id: Option<String>,
    /// The attribute `timezone`, if it is a text.
    pub timezone: Option<String>,
    /// The attribute `country`, if it is a code of two letters; in capitals.
    pub country: Option<String>,
}

/// A profile in a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: UserId,
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    /// The attribute `firstName`, if it is a text.
    pub first_name: Option<String>,
    /// The attribute `lastName`, if it is a text.
    pub last_name: Option<String>,
}

/// The size of an audience, with a sample of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub measured: Measured,
    /// Matching profiles that changed last, reachable or not.
    pub users: Vec<Member>,
}
