//! ClickHouse's HTTP interface for tools that ask in SQL: read-only, and of one workspace.
//!
//! ```text
//! request ─▶ api (credential, limits) ─▶ statement (words, names, functions) ─▶ engine (role, views, row policies) ─▶ answer
//! ```
//!
//! The walls between workspaces, and what each holds back, are in the README of this crate.

mod answer;
mod api;
mod catalog;
mod engine;
mod fault;
mod guard;
mod headers;
mod limits;
mod native;
mod pace;
mod request;
mod running;
mod settings;
mod setup;
mod statement;
mod views;

use std::{sync::Arc, time::Duration};

use analytics::sql_access::ViewDatabases;
use axum::{
    Router,
    routing::{any, get},
};
use config::Sql;
use supervisor::Heartbeat;
use web::Services;

use self::{
    engine::Engine,
    guard::Guard,
    limits::Slots,
    pace::Pace,
    settings::Bounds,
    setup::{Parts, Setup},
};

/// What the listener needs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SqlState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    services: Services,
    engine: Engine,
    bounds: Bounds,
    slots: Slots,
    setup: Setup,
    databases: ViewDatabases,
    time_max: Duration,
    pace: Pace,
    memory_max_bytes: u64,
    /// Whether the engine is the embedded one.
    is_embedded: bool,
}

impl SqlState {
    pub fn new(services: Services, settings: &Sql, is_embedded: bool) -> Self {
        let address = services.analytics().address();
        let time_max = Duration::from_secs(settings.seconds);
        let answer_max = Duration::from_secs(settings.answer_seconds);
        Self(Arc::new(Inner {
            engine: Engine::new(address),
            bounds: Bounds::new(settings),
            slots: Slots::new(settings),
            setup: Setup::new(),
            databases: ViewDatabases::of(&address.database),
            time_max,
            pace: Pace { whole_max: time_max + answer_max, idle_max: answer_max },
            memory_max_bytes: settings.memory_total_bytes,
            is_embedded,
            services,
        }))
    }

    /// Makes the views, and proves the walls: statements are refused until then. Then watches the memory of statements.
    pub async fn prepare(self, heartbeat: Heartbeat) {
        let parts = Parts {
            analytics: self.0.services.analytics(),
            engine: &self.0.engine,
            bounds: &self.0.bounds,
            databases: &self.0.databases,
            is_embedded: self.0.is_embedded,
        };
        self.0.setup.prepare(&parts, &heartbeat).await;
        let guard = Guard {
            analytics: self.0.services.analytics(),
            slots: &self.0.slots,
            memory_max_bytes: self.0.memory_max_bytes,
        };
        guard.watch(&heartbeat).await;
    }
}

/// What the listener answers.
pub fn router(state: SqlState) -> Router {
    Router::new()
        .route("/", any(api::statement))
        .route("/ping", get(api::ping))
        .fallback(api::unknown)
        .with_state(state)
}
