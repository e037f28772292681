//! The countries by which workspaces read national phone numbers.

mod store;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use kernel::{Country, Result, WorkspaceId};
use parking_lot::Mutex;
use sqlx::PgPool;

/// How long an answer of the store is used. Numbers that are written meanwhile by an old one are read again later.
pub const FRESH_FOR: Duration = Duration::from_secs(1);
/// Workspaces remembered at a time.
const REMEMBERED_MAX: usize = 10_000;

/// The country of each workspace, asked for at most once a second.
#[derive(Debug)]
pub struct Countries {
    default: Option<Country>,
    known: Mutex<HashMap<WorkspaceId, Known>>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    country: Option<Country>,
    asked: Instant,
}

impl Countries {
    /// `default` is the country of workspaces that have none of their own.
    pub fn new(default: Option<Country>) -> Self {
        Self { default, known: Mutex::default() }
    }

    /// The country of workspaces that have none of their own.
    pub fn default_country(&self) -> Option<Country> {
        self.default
    }

    pub(crate) async fn of(&self, db: &PgPool, workspace: WorkspaceId) -> Result<Option<Country>> {
        let known = self.known.lock().get(&workspace).copied();
        if let Some(known) = known.filter(|known| known.asked.elapsed() < FRESH_FOR) {
            return Ok(known.country);
        }
        let asked = Instant::now();
        let country = store::country_of(db, workspace).await?.or(self.default);
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(workspace, Known { country, asked });
        Ok(country)
    }
}
