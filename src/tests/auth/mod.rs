//! Keys, scopes and sessions on a real PostgreSQL, and on one that goes away.

mod guard;
mod issue;
mod outage;
mod proxy;
mod revocation;
mod scopes;
