//! The SQL of reports: who people are, and what campaigns count.

pub(super) mod people;
pub(super) mod runs;
pub(super) mod trackers;
