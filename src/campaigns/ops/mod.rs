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
mod restored;
mod secrets;
mod segments;
mod senders;
mod settled;
mod spam_check;
mod sto;
mod trial;
mod triggered;
mod update;
mod versions;

pub use self::{
    bulk::*, change::*, consent::fault as consent_fault, create::*, enabled_channels::*, in_app::*,
    learning::*, lifecycle::*, read::*, recurring::*, remove::*, restored::*, secrets::*,
    segments::fault as segments_fault, senders::check as sender_check, settled::*, spam_check::*,
    sto::*, trial::*, triggered::*, update::*, versions::*,
};
use kernel::Error;

/// The answer for a campaign that does not exist or belongs to another workspace.
pub const NOT_FOUND: Error = Error::NotFound("Campaign");
