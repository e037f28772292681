//! What audiences are asked with: the services, and limits that all questions share.

use std::{ops::Deref, sync::Arc, time::Duration};

use kernel::{Error, Result, WorkspaceId};
use people_mirror::ops::wait_for_profiles;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use web::{
    Services,
    shares::{ShareLimits, SharePermit, Shares},
};

/// Audiences with event filters that are queried at the same time: each holds sets of people in PostgreSQL.
const EVENT_AUDIENCES_MAX: usize = 4;
/// How long a query waits for copies of profiles that were just written.
const COPIES_WAIT_MAX: Duration = Duration::from_secs(1);
/// Scans at the same time: each keeps a processor of PostgreSQL busy, for seconds where there are a million profiles.
const SCANS: ShareLimits = ShareLimits {
    all: 4,
    of_workspace: 2,
    wait_max: PERMIT_WAIT_MAX,
    refused: "too many audiences are being counted",
    retry_after: Duration::from_secs(2),
};
/// How long a query waits for a permit.
const PERMIT_WAIT_MAX: Duration = Duration::from_secs(10);

/// The services, and the limits of audiences asked at the same time; cheap to clone.
#[derive(Debug, Clone)]
pub struct AudienceState {
    services: Services,
    event_audiences: Arc<Semaphore>,
    scans: Arc<Shares>,
    asks_copies: bool,
}

impl AudienceState {
    /// The state, with all permits free.
    pub fn new(services: Services) -> Self {
        let event_audiences = Arc::new(Semaphore::new(EVENT_AUDIENCES_MAX));
        Self { services, event_audiences, scans: Arc::new(Shares::new(SCANS)), asks_copies: true }
    }

    /// The same, which finds the profiles of events in PostgreSQL alone, as where their copies in ClickHouse are late.
    #[must_use]
    pub fn without_copies(&self) -> Self {
        Self { asks_copies: false, ..self.clone() }
    }

    /// Whether the copies of a workspace's profiles in ClickHouse are as new as this call, now or soon.
    ///
    /// # Errors
    /// Unavailable when PostgreSQL is.
    pub async fn has_copies(&self, workspace: WorkspaceId) -> Result<bool> {
        Ok(self.asks_copies && wait_for_profiles(self.db(), workspace, COPIES_WAIT_MAX).await?)
    }

    /// Waits for the permit to scan the profiles of a workspace.
    pub(crate) async fn scan_permit(&self, workspace: WorkspaceId) -> Result<SharePermit> {
        self.scans.permit(workspace).await
    }

    /// Waits for the permit to query an audience with event filters.
    pub(crate) async fn event_audience_permit(&self) -> Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.event_audiences).acquire_owned();
        let permit = tokio::time::timeout(PERMIT_WAIT_MAX, permit).await;
        permit.ok().and_then(std::result::Result::ok).ok_or_else(Error::store_unavailable)
    }
}

impl Deref for AudienceState {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}
