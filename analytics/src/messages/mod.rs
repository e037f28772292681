//! What became of messages.
//!
//! Reports count rows of `message_outcomes`, one a message, by the rules of `sql/message_final.sql`; what
//! has to be distinguished event by event is read from `message_events`.

mod attribution;
mod conversions;
mod counts;
mod delays;
mod failures;
mod harms;
mod history;
mod in_app;
mod links;
mod outcomes;
mod people;
mod person;
mod recipients;
mod rewards;
mod spans;
mod timeline;
mod touches;
mod units;

pub use self::{
    attribution::*, conversions::*, counts::*, delays::*, failures::*, harms::*, history::*,
    in_app::*, links::*, outcomes::*, people::*, person::*, recipients::*, rewards::*, spans::*,
    timeline::*, touches::*, units::*,
};
