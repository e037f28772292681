//! Audiences: profiles that match a targeting, and which of them can be reached.

mod dates;
mod evaluator;
mod events;
mod filters;
pub(crate) mod fixture;
mod isolation;
mod preview;
mod random;
mod reach;
