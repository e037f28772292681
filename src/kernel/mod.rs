//! The values every area speaks: ids, time, errors. Nothing here does I/O.

mod clock;
mod error;
mod id;
mod time;

pub use self::{
    clock::{Clock, ClockHand},
    error::{Error, FieldError, Result},
    id::{KeyId, MalformedId, OrganizationId, UserId, WorkspaceId},
    time::{DayEdge, EventTime, NotATimestamp, Timestamp},
};
