//! Logs and metrics.
//!
//! [`api`] answers scrapes, [`logs`] sets up structured logging, [`recorder`] collects the metrics of the crate `metrics_catalogue` and renders them for
//! Prometheus.

pub mod logs;
pub mod recorder;
