//! The values every area speaks: ids, time, channels, addresses, errors. Nothing here does I/O.

mod channel;
mod clock;
mod email;
mod error;
mod id;
mod phone;
mod tenant;
mod time;

pub use self::{
    channel::{Channel, ChannelSet},
    clock::{Clock, ClockHand},
    email::{EmailAddress, NotAnEmailAddress},
    error::{Error, FieldError, Result},
    id::{
        CampaignId, KeyId, ListId, MalformedId, MessageId, OrganizationId, SenderDomainId, UserId,
        VersionId, WorkspaceId,
    },
    phone::{NotAPhoneNumber, PhoneNumber},
    tenant::Tenant,
    time::{DayEdge, EventTime, NotATimestamp, Timestamp},
};
