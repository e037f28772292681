//! Audiences: whom a targeting means, and whom of them a message may reach.

mod dates;
mod evaluator;
mod events;
mod filters;
pub(crate) mod fixture;
mod preview;
mod random;
mod reach;
mod walls;
