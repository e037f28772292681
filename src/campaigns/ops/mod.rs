//! Operations on campaigns.

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
    learning::{launch_rl, learners, learning, observations, pause_rl, resume_rl, store_learning},
    lifecycle::{archive, cancel, pause, resend, resume, retry, send, stop_recurring, unarchive},
    read::{find, list},
    recurring::{RecurringStatus, recurring_status},
    remove::remove,
    secrets::with_open_headers,
    senders::check as sender_check,
    settled::{give_up, sending, settle},
    spam_check::{Subject, spam_check, spam_score},
    sto::{Coverage, Timetable, sto_coverage},
    trial::{Ending, conclude, retest_ab, select_winner, store_beginning, trials},
    triggered::{active_triggered, triggered_campaigns},
    update::{discard_draft, publish, update},
    versions::{Compared, compare, find_version, history, rollback, versions},
};
use kernel::Error;

/// The answer for a campaign that does not exist or belongs to another workspace.
pub const NOT_FOUND: Error = Error::NotFound("Campaign");
