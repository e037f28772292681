//! Deletes events, message events and deleted profiles that a workspace keeps no longer.
//!
//! How many days each workspace keeps them is in `web::workspaces`. One process acts at a time, `every_minutes`, and a
//! clock that jumped ahead deletes nothing before a day has passed: see [`clock`].

mod clock;
mod ops;
mod store;

pub use self::ops::{Outcome, RetentionOptions, run, watch};
