//! Privacy requests, and the steps of an erasure.

mod request;
mod step;

pub use self::{
    request::{
        EVENTS_FATES, EventsFate, KINDS, Kind, NewRequest, PersonName, PrivacyRequest, RequestId,
        STATES, State,
    },
    step::{STEPS, Step},
};
