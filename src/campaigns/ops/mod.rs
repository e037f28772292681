//! What callers do to campaigns.

mod bulk;
mod change;
mod create;
pub mod due;
mod lifecycle;
mod read;
mod remove;
mod update;
mod versions;

pub use self::{
    bulk::{Bulk, Work, each},
    change::{Step, Who, change},
    create::{create, duplicate},
    lifecycle::{archive, cancel, pause, resend, resume, retry, send, stop_recurring, unarchive},
    read::{find, list},
    remove::remove,
    update::{discard_draft, publish, update},
    versions::{Compared, compare, find_version, history, rollback, versions},
};

use crate::kernel::Error;

/// What is answered for a campaign that is not there, or not the workspace's.
pub const NOT_FOUND: Error = Error::NotFound("Campaign");
