//! What callers do to campaigns.

mod bulk;
mod change;
mod consent;
mod create;
pub mod due;
mod enabled_channels;
mod in_app;
mod learning;
mod lifecycle;
mod read;
mod recurring;
mod remove;
mod secrets;
mod senders;
mod settled;
mod spam_check;
mod sto;
mod trial;
mod triggered;
mod update;
mod versions;

pub use self::{
    bulk::{Bulk, Work, each},
    change::{Step, Who, change},
    consent::fault as consent_fault,
    create::{create, duplicate},
    enabled_channels::{EnabledChannels, record_enabled_channels},
    in_app::{find_all, live_in_app},
    learning::{launch_rl, learners, learning, note_learning, observations, pause_rl, resume_rl},
    lifecycle::{archive, cancel, pause, resend, resume, retry, send, stop_recurring, unarchive},
    read::{find, list},
    recurring::{RecurringStatus, recurring_status},
    remove::remove,
    secrets::with_open_headers,
    senders::check as sender_check,
    settled::{give_up, sending, settle},
    spam_check::{Subject, spam_check, spam_score},
    sto::{Coverage, Timetable, sto_coverage},
    trial::{Ending, conclude, note_beginning, retest_ab, select_winner, trials},
    triggered::{standbys, standing_by},
    update::{discard_draft, publish, update},
    versions::{Compared, compare, find_version, history, rollback, versions},
};
use kernel::Error;

/// What is answered for a campaign that is not there, or not the workspace's.
pub const NOT_FOUND: Error = Error::NotFound("Campaign");
