//! Keys, scopes and sessions on a real PostgreSQL, and on one that goes away.

mod audit;
mod guard;
mod issue;
mod key_api;
mod outage;
mod proxy;
mod revocation;
mod scopes;
