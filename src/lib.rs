//! Millrace: a customer-engagement platform in one program.
//!
//! One folder per area, named after the first word of its URLs, plus the kit they share. Inside an
//! area: `api` (HTTP) → `ops` (transactions) → `store` (SQL) → `model` (rules). Down is free, up never.

pub mod app;
pub mod cli;
pub mod router;
mod scrape;
pub mod server;
pub mod shutdown;
