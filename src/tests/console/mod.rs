//! The console: signing in, and pages as people and browsers see them.

mod accessible;
mod campaigns;
mod campaigns_report;
mod explore;
mod health;
mod import;
mod journey;
mod kit;
mod lists;
mod live;
mod managed;
mod pages;
mod people;
mod segments;
mod settings;
mod sign_in;
mod suppressions;
