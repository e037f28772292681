//! Logs and metrics.
//!
//! [`api`] answers scrapes, [`logs`] sets up structured logging, [`catalogue`] names every metric with its kind, unit and help,
//! [`recorder`] collects them and renders the Prometheus text.

pub mod catalogue;
pub mod logs;
pub mod recorder;
