//! Consent states and the rules of their changes, without I/O.

mod channel;
mod history;
mod membership;
mod plan;
#[cfg(test)]
mod tests;

pub use kernel::Tenant;
pub use web::audit::Origin;

pub use self::{
    channel::{
        AddressChange, Bounce, BounceType, ChannelConsent, ChannelState, ChannelStatus, Channels,
        Deliverability, PendingChannel,
    },
    history::HistoryEntry,
    membership::{
        Membership, MembershipKey, MembershipStatus, Outcome, Pending, SkipReason, Turn, Wish,
    },
    plan::{Known, ListState, Mode, Plan, Verdict, plan},
};
