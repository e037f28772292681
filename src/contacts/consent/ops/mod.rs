//! Changes and reads of consent. Every change is one transaction with its history entry and its mirror in the
//! ledgers.

mod channel_requests;
pub mod channels;
pub mod feedback;
pub mod memberships;
mod merge;
pub mod read;

pub use self::{
    channel_requests::{ChannelRequest, confirm_channel, request_channel},
    channels::{
        BounceCleared, ChannelChange, addresses_changed, addresses_created, clear_bounce,
        set_channel, set_channel_within,
    },
    feedback::{Complaint, SoftBounce, address_of, complained, soft_bounced},
    memberships::{
        Added, Members, SDK_SOURCE, Subscribed, Subscription, add_members, apply_inline, confirm,
        remove_members, request, subscribe, unsubscribe,
    },
    merge::{ContactMerge, merge_contacts},
    read::{NumberHolder, tenant_of, with_number},
};
pub use crate::consent::model::AddressChange;
