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
        AddressChange, Bounce, BounceType, ChannelConsent, ChannelKey, ChannelState, ChannelStatus,
        Channels, Deliverability, PendingChannel,
    },
    history::HistoryEntry,
    membership::{
        Membership, MembershipChange, MembershipKey, MembershipStatus, Outcome, Pending,
        SkipReason, SubscriptionRequest,
    },
    plan::{ListState, Mode, Plan, PlanInput, RequestOutcome, plan},
};
