//! The base of every area that serves HTTP: the accept loop, credentials, signed links, the PostgreSQL pool,
//! the audit history, logs and metrics.

pub mod audit;
pub mod audit_log;
pub mod auth;
pub mod countries;
pub mod db;
pub mod http;
pub mod links;
pub mod management;
pub mod shares;
pub mod spool;
pub mod telemetry;
pub mod workspaces;

mod services;

// Named for its feature alone: TLS of the pool's connections.
use sqlx_core as _;

pub use self::services::{ServiceParts, Services};

// The limits in the API's description must equal those that ingest enforces.
const _: () = assert!(kernel::schema::EVENT_MS_MIN == ingest::model::limits::TIMESTAMP_MS_MIN);
