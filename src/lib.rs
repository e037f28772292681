//! Millrace: a customer-engagement platform in one program.
//!
//! One folder per area, named after the first word of its URLs, plus the kit they share. Inside an
//! area: `api` (HTTP) → `ops` (transactions) → `store` (SQL) → `model` (rules). Down is free, up never.

pub mod app;
pub mod audience;
pub mod audit;
pub mod auth;
pub mod callbacks;
pub mod campaigns;
pub mod cli;
pub mod config;
pub mod consent;
pub mod db;
pub mod delivery;
pub mod engines;
pub mod events;
pub mod hosted_page;
pub mod http;
pub mod kernel;
pub mod links;
pub mod lists;
pub mod markup;
pub mod router;
pub mod sdk;
pub mod sender_domains;
pub mod server;
pub mod shutdown;
pub mod spam;
pub mod stats;
pub mod suppressions;
pub mod telemetry;
pub mod template;
pub mod tracking;
pub mod triggers;
pub mod users;
pub mod vault;
