//! The SQL of reports: profiles, names, runs, earlier campaigns, and campaigns with goals.

pub(super) mod campaigns;
pub(super) mod history;
pub(super) mod people;
pub(super) mod runs;
pub(super) mod trackers;
