//! What is asked of an audience, and what is answered.

use kernel::{Channel, ListId, UserId};

use super::Targeting;

/// An audience, and the way in which it is to be reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ask<'a> {
    /// Whom it means; everyone where absent.
    pub targeting: Option<&'a Targeting>,
    /// The channel, where it is one that needs an address and consent. Without one everybody is reached: an
    /// in-app message waits in the app, and a webhook goes to its own address.
    pub channel: Option<Channel>,
    /// The subscription list the message is sent under: its opt-outs and its group's suppressions hold.
    pub list: Option<ListId>,
}

/// One of the few an audience is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub user: UserId,
    /// The caller's own id.
    pub external_id: Option<String>,
}

impl Person {
    /// The identifiers their events may have been tracked by.
    pub fn identifiers(&self) -> impl Iterator<Item = String> {
        std::iter::once(self.user.to_string()).chain(self.external_id.clone())
    }
}

/// Why somebody who is meant is not reached. Of several reasons the first in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exclusion {
    /// There is nowhere to send: no email address, no phone number, for push no external id.
    NoAddress,
    /// A hard bounce marked the address invalid, or the phone number is none.
    InvalidAddress,
    /// They opted out of the channel or of the list, or have not opted in where that is wanted.
    Unsubscribed,
    /// The address is suppressed, for everything or for the list's group.
    Suppressed,
}

/// How many are excluded, each under one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Excluded {
    pub no_address: u64,
    pub invalid_address: u64,
    pub unsubscribed: u64,
    pub suppressed: u64,
}

impl Excluded {
    /// Counts so many more under a reason.
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

/// How large an audience is: `matched` is `reachable` and `excluded` together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measured {
    /// Active profiles that the targeting means.
    pub matched: u64,
    /// Those of them whom a message may reach now.
    pub reachable: u64,
    /// Those whom none may reach, by reason.
    pub excluded: Excluded,
}

/// One whom the targeting means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    pub user: UserId,
    /// Why no message may reach them; `None` where one may.
    pub excluded: Option<Exclusion>,
}

/// One whom a message may reach, and by whose clocks they live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    pub user: UserId,
    /// The caller's own id.
    pub external_id: Option<String>,
    /// The attribute `timezone`, where it is a text.
    pub timezone: Option<String>,
    /// The attribute `country`, where it is a code of two letters; in capitals.
    pub country: Option<String>,
}

/// A profile as a preview shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The service's own id.
    pub id: UserId,
    /// The caller's own id.
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    /// The attribute, where it is a text.
    pub first_name: Option<String>,
    /// The attribute, where it is a text.
    pub last_name: Option<String>,
}

/// A look at an audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// How large it is.
    pub measured: Measured,
    /// Those of whom the targeting means that changed last, reachable or not.
    pub users: Vec<Member>,
}
