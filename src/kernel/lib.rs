//! The values every area speaks: ids, time, channels, addresses, errors. Nothing here does I/O.

#![warn(missing_docs)]

mod channel;
mod clock;
mod country;
mod email;
mod error;
mod id;
mod page_origin;
mod phone;
mod postgres;
mod proxy;
mod tenant;

pub mod fields;
pub mod outage;
pub mod page;
pub mod quiet;
pub mod schema;
pub mod store;
pub mod time;
pub mod time_of_day;
pub mod zone;

pub use self::{
    channel::{Channel, ChannelSet},
    clock::{Clock, ClockHand},
    country::{Country, NotACountry},
    email::{EmailAddress, NotAnEmailAddress},
    error::{Error, FieldError, Result, Severity},
    id::{
        CampaignId, InsightId, KeyId, ListId, MalformedId, MessageId, OrganizationId, SegmentId,
        SenderDomainId, UserId, VersionId, WorkspaceId,
    },
    page_origin::{Identity, NotAnOrigin, Origin},
    phone::{NotAPhoneNumber, PhoneNumber},
    proxy::{NotANetwork, TrustedProxy},
    tenant::Tenant,
    time::{DayEdge, EventTime, NotATimestamp, Timestamp},
};
