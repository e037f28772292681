//! The SQL of reports: profiles, runs and campaigns with goals.

pub(super) mod people;
pub(super) mod runs;
pub(super) mod trackers;
