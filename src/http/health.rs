//! `GET /livez` says that the process answers; `GET /readyz` that both stores do, too.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{FromRef, State},
};
use parking_lot::RwLock;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::kernel::{Error, Result};

/// When to ask again after "not ready".
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A store the service stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Profiles, keys, campaigns.
    Postgres,
    /// Events.
    Clickhouse,
}

/// Whether a store can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Reachable, and at the newest schema.
    Ready,
    /// Not; the reason is for the log.
    Down(String),
}

/// What is known about the stores. All clones share it; whoever watches a store sets it.
#[derive(Debug, Clone)]
pub struct Readiness(Arc<RwLock<Stores>>);

#[derive(Debug)]
struct Stores {
    postgres: Condition,
    clickhouse: Condition,
}

impl Readiness {
    /// Nothing is ready yet.
    pub fn new() -> Self {
        let unseen = || Condition::Down("not reached yet".to_owned());
        Self(Arc::new(RwLock::new(Stores { postgres: unseen(), clickhouse: unseen() })))
    }

    /// Notes a store's condition; a change is logged.
    pub fn set(&self, store: Store, condition: Condition) {
        let mut stores = self.0.write();
        let known = match store {
            Store::Postgres => &mut stores.postgres,
            Store::Clickhouse => &mut stores.clickhouse,
        };
        if *known == condition {
            return;
        }
        match &condition {
            Condition::Ready => tracing::info!(?store, "store is ready"),
            Condition::Down(reason) => tracing::warn!(?store, reason, "store is not ready"),
        }
        *known = condition;
    }

    /// Whether both stores are ready, or which is not.
    pub fn check(&self) -> Result<()> {
        let stores = self.0.read();
        let what = match (&stores.postgres, &stores.clickhouse) {
            (Condition::Ready, Condition::Ready) => return Ok(()),
            (Condition::Down(_), Condition::Ready) => "PostgreSQL is not ready",
            (Condition::Ready, Condition::Down(_)) => "ClickHouse is not ready",
            (Condition::Down(_), Condition::Down(_)) => "PostgreSQL and ClickHouse are not ready",
        };
        Err(Error::Unavailable { what, retry_after: Some(ASK_AGAIN) })
    }
}

impl Default for Readiness {
    fn default() -> Self {
        Self::new()
    }
}

/// The answer of both checks.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `ok`.
    status: &'static str,
}

const OK: Json<Health> = Json(Health { status: "ok" });

/// The two checks, which need no credential.
pub fn router<S>() -> OpenApiRouter<S>
where
    Readiness: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    OpenApiRouter::new().routes(routes!(livez)).routes(routes!(readyz))
}

/// Whether the process answers.
#[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200, body = Health)))]
async fn livez() -> Json<Health> {
    OK
}

/// Whether both stores are reachable and migrated.
#[utoipa::path(get, path = "/readyz", tag = "health", responses((status = 200, body = Health)))]
async fn readyz(State(readiness): State<Readiness>) -> Result<Json<Health>> {
    readiness.check().map(|()| OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(readiness: &Readiness) -> Option<String> {
        readiness.check().err().map(|error| error.to_string())
    }

    #[test]
    fn ready_means_both_stores() {
        let readiness = Readiness::new();
        assert_eq!(text(&readiness).unwrap(), "PostgreSQL and ClickHouse are not ready");
        readiness.set(Store::Postgres, Condition::Ready);
        assert_eq!(text(&readiness).unwrap(), "ClickHouse is not ready");
        readiness.clone().set(Store::Clickhouse, Condition::Ready);
        assert_eq!(text(&readiness), None);
        readiness.set(Store::Postgres, Condition::Down("gone".into()));
        assert_eq!(text(&readiness).unwrap(), "PostgreSQL is not ready");
    }
}
