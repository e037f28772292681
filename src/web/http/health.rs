//! `GET /livez` answers while the process lives; `GET /readyz` says whether it can do its work, or one kind of
//! it.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{FromRef, State},
};
use ingest::spool::{self, Spool};
use kernel::{Error, Result};
use parking_lot::RwLock;
use serde::Serialize;
use supervisor::Workers;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::query::{FromQuery, Query, QueryFields};
use crate::http::{ApiError, ApiResult};

/// The worker that follows changes of keys.
pub const KEY_WATCH: &str = "key-watch";
/// `Retry-After` of "not ready".
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A database of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    Postgres,
    Clickhouse,
}

/// Whether a database can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Reachable, with the schema it must have.
    Ready,
    /// Unavailable; the reason is for the log.
    Down(String),
}

/// A kind of work that a process can be ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum Work {
    /// Accepting events: the spool has room, and its writer is alive. Needs no database.
    Ingest,
    /// Profiles, consent, campaigns: PostgreSQL answers and accepts writes.
    Control,
    /// Sending messages: both databases answer, and the delivery workers are alive.
    Delivery,
}

impl Work {
    /// Whether it needs the worker of that name.
    fn needs_worker(self, name: &str) -> bool {
        match self {
            Self::Ingest => name == spool::WRITER || name.starts_with("listener-"),
            Self::Control => {
                name == KEY_WATCH || name == "profile-calls" || name.starts_with("listener-")
            }
            Self::Delivery => {
                name.starts_with(ingest::pipeline::WORKER)
                    || name == "triggers"
                    || name == "campaigns-due"
                    || name.starts_with("delivery-")
            }
        }
    }
}

/// The state of the databases, the spool and the workers. Clones share it; the task that watches a database
/// updates it.
#[derive(Debug, Clone)]
pub struct Readiness {
    stores: Arc<RwLock<Stores>>,
    spool: Option<Spool>,
    workers: Workers,
}

#[derive(Debug)]
struct Stores {
    postgres: Condition,
    clickhouse: Condition,
}

impl Readiness {
    pub fn new() -> Self {
        let unseen = || Condition::Down("not reached yet".to_owned());
        let stores = Stores { postgres: unseen(), clickhouse: unseen() };
        Self { stores: Arc::new(RwLock::new(stores)), spool: None, workers: Workers::default() }
    }

    /// The same, with the spool and the workers of this process.
    #[must_use]
    pub fn of(self, spool: Spool, workers: Workers) -> Self {
        Self { spool: Some(spool), workers, ..self }
    }

    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Sets a database's condition; a change is logged.
    pub fn set(&self, store: Store, condition: Condition) {
        let mut stores = self.stores.write();
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

    /// Whether a database answered when it was checked last.
    pub fn is_up(&self, store: Store) -> bool {
        let stores = self.stores.read();
        let known = match store {
            Store::Postgres => &stores.postgres,
            Store::Clickhouse => &stores.clickhouse,
        };
        *known == Condition::Ready
    }

    /// Whether everything is ready, or the first thing that is not.
    ///
    /// # Errors
    /// 503 with the first thing that is missing.
    pub fn check(&self) -> Result<()> {
        self.check_stores()?;
        self.check_workers(|_| true)
    }

    /// Whether one kind of work can be done, or the first thing that is missing for it.
    ///
    /// # Errors
    /// 503 with the first thing that is missing.
    pub fn check_for(&self, work: Work) -> Result<()> {
        match work {
            Work::Ingest => {
                if self.spool.as_ref().is_some_and(|spool| !spool.has_room()) {
                    return Err(not_ready("The spool has no room"));
                }
            }
            Work::Control => {
                if !self.is_up(Store::Postgres) {
                    return Err(not_ready("PostgreSQL is not ready"));
                }
            }
            Work::Delivery => self.check_stores()?,
        }
        self.check_workers(|name| work.needs_worker(name))
    }

    fn check_stores(&self) -> Result<()> {
        let stores = self.stores.read();
        let what = match (&stores.postgres, &stores.clickhouse) {
            (Condition::Ready, Condition::Ready) => return Ok(()),
            (Condition::Down(_), Condition::Ready) => "PostgreSQL is not ready",
            (Condition::Ready, Condition::Down(_)) => "ClickHouse is not ready",
            (Condition::Down(_), Condition::Down(_)) => "PostgreSQL and ClickHouse are not ready",
        };
        Err(not_ready(what))
    }

    fn check_workers(&self, is_needed: impl Fn(&str) -> bool) -> Result<()> {
        let Some(name) = self.workers.find_dead(is_needed) else { return Ok(()) };
        tracing::debug!(worker = name, "not ready: a worker is not alive");
        Err(not_ready("A worker is not alive (see the metric millrace_worker_alive)"))
    }
}

fn not_ready(what: &'static str) -> Error {
    Error::Unavailable { what, retry_after: Some(RETRY_AFTER) }
}

impl Default for Readiness {
    fn default() -> Self {
        Self::new()
    }
}

/// The answer of both checks.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    status: &'static str,
}

const OK: Json<Health> = Json(Health { status: "ok" });

/// The values of `for`.
const WORKS: &[(&str, Work)] =
    &[("ingest", Work::Ingest), ("control", Work::Control), ("delivery", Work::Delivery)];

/// The query string of `/readyz`.
#[derive(Debug)]
struct ReadyQuery {
    work: Option<Work>,
}

impl FromQuery for ReadyQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { work: query.one_of("for", WORKS) }
    }
}

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

/// Whether both databases are reachable and migrated and all workers are alive; with `for`, whether one kind of
/// work can be done.
#[utoipa::path(get, path = "/readyz", tag = "health", params(("for" = inline(Option<Work>), Query, description = "one kind of work: `ingest` (the spool has room and its writer is alive), `control` (PostgreSQL), `delivery` (both stores and what sends); without it, everything")), responses((status = 200, body = Health)))]
async fn readyz(
    State(readiness): State<Readiness>,
    Query(query): Query<ReadyQuery>,
) -> ApiResult<Json<Health>> {
    match query.work {
        None => readiness.check(),
        Some(work) => readiness.check_for(work),
    }
    .map(|()| OK)
    .map_err(ApiError)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(checked: Result<()>) -> Option<String> {
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn ready_means_both_stores() {
        let readiness = Readiness::new();
        let check = || text(readiness.check());
        assert_eq!(check().unwrap(), "PostgreSQL and ClickHouse are not ready");
        readiness.set(Store::Postgres, Condition::Ready);
        assert_eq!(check().unwrap(), "ClickHouse is not ready");
        readiness.clone().set(Store::Clickhouse, Condition::Ready);
        assert_eq!(check(), None);
        readiness.set(Store::Postgres, Condition::Down("gone".into()));
        assert_eq!(check().unwrap(), "PostgreSQL is not ready");
    }

    #[test]
    fn each_kind_of_work_needs_its_own_stores_and_workers() {
        let readiness = Readiness::new();
        let ready = || {
            [Work::Ingest, Work::Control, Work::Delivery]
                .map(|work| readiness.check_for(work).is_ok())
        };
        assert_eq!(ready(), [true, false, false], "taking events needs no store");
        readiness.set(Store::Postgres, Condition::Ready);
        assert_eq!(ready(), [true, true, false]);
        readiness.set(Store::Clickhouse, Condition::Ready);
        assert_eq!(ready(), [true, true, true]);
        let silence_max = Duration::from_mins(1);
        for (name, expected) in [
            (spool::WRITER, [false, true, true]),
            (ingest::pipeline::WORKER, [true, true, false]),
            ("delivery-send", [true, true, false]),
            (KEY_WATCH, [true, false, true]),
        ] {
            let worker = readiness.workers().register(name, silence_max);
            assert_eq!(ready(), expected, "{name} did not run yet");
            assert!(readiness.check().is_err(), "{name}: everything needs every worker");
            worker.ended();
        }
        assert!(readiness.check().is_ok());
    }
}
