//! The console: signing in, and pages as people and browsers see them.

mod accessible;
mod campaign_form;
mod campaigns;
mod campaigns_report;
mod explore;
mod explore_sql;
mod health;
mod home;
mod import;
mod journey;
mod journeys;
pub(crate) mod kit;
mod lighthouse;
mod lists;
mod live;
mod managed;
mod many_rows;
mod members;
mod openid;
mod openid_provider;
mod pages;
mod people;
mod segments;
mod settings;
mod sign_in;
mod suppressions;
