//! What every area serves HTTP with: the accept loop, credentials, signed links, the PostgreSQL pool, the audit history,
//! logs and metrics.

pub mod audit;
pub mod auth;
pub mod db;
pub mod http;
pub mod links;
pub mod spool;
pub mod telemetry;

mod services;

pub use self::services::{ServiceParts, Services};

// What the API describes is what ingest enforces.
const _: () = assert!(kernel::schema::EVENT_MS_MIN == ingest::model::limits::TIMESTAMP_MS_MIN);
