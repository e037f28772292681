//! Campaigns, their versions and their history in PostgreSQL.

mod campaigns;
mod due;
mod enabled_channels;
mod filter;
mod in_app;
mod learning;
mod records;
mod runs;
mod triggered;

pub(crate) use self::{
    campaigns::{Saved, SavedVersion, delete, find, find_newest, insert, save},
    due::{due, postpone},
    enabled_channels::{enabled_channels, record_enabled_channels, renew_enabled_channels},
    filter::list,
    in_app::live_in_app,
    learning::{active_learners, active_with_trial, observations, store_learning, store_trial},
    records::{find_version, history, versions},
    runs::{begin, is_under_way, reopen_run, sending, skip_occurrence},
    triggered::{active_triggered, triggered_campaigns},
};
