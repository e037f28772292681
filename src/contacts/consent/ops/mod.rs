//! Changes and reads of consent. Every change is one transaction with its history entry and its mirror in the
//! ledgers.

mod channel_requests;
pub mod channels;
pub mod heard;
pub mod memberships;
pub mod read;

pub use self::{
    channel_requests::{ChannelRequest, confirm_channel, request_channel},
    channels::{
        BounceCleared, ChannelChange, addresses_begun, addresses_changed, clear_bounce,
        set_channel, turn_channel,
    },
    heard::{Address, SoftBounce, complained, soft_bounced},
    memberships::{
        Added, Members, SDK_SOURCE, Subscribed, Subscription, add_members, apply_inline, confirm,
        remove_members, request, subscribe, unsubscribe,
    },
    read::{NumberHolder, tenant_of, with_number},
};
pub use crate::consent::model::AddressChange;
