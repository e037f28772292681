//! Logs and metrics.
//!
//! [`logs`] sets up structured logging, [`recorder`] collects the metrics of the crate
//! `metrics_catalogue` and renders the Prometheus text.

pub mod logs;
pub mod recorder;
