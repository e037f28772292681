//! How many audiences are scanned at the same time.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use kernel::{Error, Result, WorkspaceId};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Scans at the same time: each keeps a processor of PostgreSQL busy, for seconds where there are a million profiles.
const SCANS_MAX: usize = 4;
/// Of these, scans of one workspace: the others leave room for other workspaces.
const WORKSPACE_SCANS_MAX: usize = 2;
/// How long a scan waits until others end.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// When a refused caller may ask again.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The permits to scan audiences: some for all workspaces together, and fewer for each of them.
#[derive(Debug)]
pub(crate) struct Scans {
    all: Arc<Semaphore>,
    workspaces: Mutex<HashMap<WorkspaceId, Weak<Semaphore>>>,
    wait_max: Duration,
}

/// The permit to scan an audience; dropping it ends the scan.
#[derive(Debug)]
pub(crate) struct ScanPermit {
    _permits: [OwnedSemaphorePermit; 2],
}

impl Scans {
    pub(crate) fn new() -> Self {
        let all = Arc::new(Semaphore::new(SCANS_MAX));
        Self { all, workspaces: Mutex::default(), wait_max: WAIT_MAX }
    }

    /// Waits for the permit to scan an audience of a workspace. A workspace that waits for scans of its own takes
    /// no permit from the others.
    ///
    /// # Errors
    /// Unavailable when too many scans still run after the longest wait.
    pub(crate) async fn permit(&self, workspace: WorkspaceId) -> Result<ScanPermit> {
        let permits = async {
            let own = self.of(workspace).acquire_owned().await.ok()?;
            let shared = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some(ScanPermit { _permits: [own, shared] })
        };
        let permit = tokio::time::timeout(self.wait_max, permits).await;
        permit.ok().flatten().ok_or(Error::Unavailable {
            what: "too many audiences are being counted",
            retry_after: Some(RETRY_AFTER),
        })
    }

    /// The permits of a workspace, which exist while it has or awaits one.
    fn of(&self, workspace: WorkspaceId) -> Arc<Semaphore> {
        let mut workspaces = self.workspaces.lock();
        if let Some(permits) = workspaces.get(&workspace).and_then(Weak::upgrade) {
            return permits;
        }
        workspaces.retain(|_, permits| permits.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(WORKSPACE_SCANS_MAX));
        workspaces.insert(workspace, Arc::downgrade(&permits));
        permits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> WorkspaceId {
        WorkspaceId::new(uuid::Uuid::now_v7())
    }

    fn without_waiting() -> Scans {
        Scans { wait_max: Duration::ZERO, ..Scans::new() }
    }

    #[tokio::test]
    async fn one_workspace_leaves_scans_to_others() {
        let scans = without_waiting();
        let (busy, other) = (workspace(), workspace());
        let mut held = Vec::new();
        for _ in 0..WORKSPACE_SCANS_MAX {
            held.push(scans.permit(busy).await.unwrap());
        }
        let refused = scans.permit(busy).await.unwrap_err();
        assert!(refused.is_unavailable());
        assert_eq!(refused.retry_after(), Some(RETRY_AFTER));
        let others = scans.permit(other).await.unwrap();
        held.pop();
        scans.permit(busy).await.unwrap();
        drop(others);
    }

    #[tokio::test]
    async fn all_workspaces_together_have_a_limit() {
        let scans = without_waiting();
        let mut held = Vec::new();
        for _ in 0..SCANS_MAX {
            held.push(scans.permit(workspace()).await.unwrap());
        }
        assert!(scans.permit(workspace()).await.is_err());
        held.pop();
        scans.permit(workspace()).await.unwrap();
    }

    #[tokio::test]
    async fn workspaces_without_scans_are_forgotten() {
        let scans = without_waiting();
        for _ in 0..100 {
            drop(scans.permit(workspace()).await.unwrap());
        }
        assert!(scans.workspaces.lock().len() <= 1);
    }
}
