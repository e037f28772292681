//! Questions, and how their answers are computed.
//!
//! Reading order: [`period`] (ranges of time and their intervals), [`choice`] (which events), [`people`] (whose),
//! then [`trends`], [`funnels`] (with [`attempts`]) and [`retention`], each a question with its limits and its rules ([`follow`]); [`saved`]
//! keeps them.

mod attempts;
pub mod breakdown;
pub mod choice;
mod filter;
pub(crate) mod follow;
pub mod funnels;
pub mod people;
pub mod period;
pub mod retention;
pub mod saved;
mod ties;
pub mod trends;

/// Characters of an event name, a path or a label.
pub const TEXT_CHARS_MAX: usize = 255;
/// Filters of one choice of events.
pub const FILTERS_MAX: usize = 20;
/// Filters of a question, all choices together.
pub const FILTERS_IN_ALL_MAX: usize = 100;
/// Intervals of a question.
pub const INTERVALS_MAX: usize = 5_000;
/// People that the `people` of a question may match, and that a funnel or retention may follow.
pub const PEOPLE_MAX: u64 = 3_000_000;
