//! Permits for expensive work, of which one workspace cannot take all.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use kernel::{Error, Result, WorkspaceId};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How much of some work is done at the same time, and what happens to more of it.
#[derive(Debug, Clone, Copy)]
pub struct ShareLimits {
    /// Permits of all workspaces together.
    pub all: usize,
    /// Of these, permits of one workspace: the others leave room for other workspaces.
    pub of_workspace: usize,
    /// How long a caller waits until others end.
    pub wait_max: Duration,
    /// What a refused caller is answered.
    pub refused: &'static str,
    /// When a refused caller may ask again.
    pub retry_after: Duration,
}

/// The permits for some work: some for all workspaces together, and fewer for each of them.
#[derive(Debug)]
pub struct Shares {
    limits: ShareLimits,
    all: Arc<Semaphore>,
    workspaces: Mutex<HashMap<WorkspaceId, Weak<Semaphore>>>,
}

/// The permit for one piece of work; dropping it ends the work.
#[derive(Debug)]
#[must_use]
pub struct SharePermit {
    _permits: [OwnedSemaphorePermit; 2],
}

impl Shares {
    /// The permits, all of them free.
    pub fn new(limits: ShareLimits) -> Self {
        let all = Arc::new(Semaphore::new(limits.all));
        Self { limits, all, workspaces: Mutex::default() }
    }

    /// Waits for a permit of a workspace. A workspace that waits for work of its own takes no permit from the others.
    ///
    /// # Errors
    /// Unavailable when too much work is still done after the longest wait.
    pub async fn permit(&self, workspace: WorkspaceId) -> Result<SharePermit> {
        let permits = async {
            let own = self.of(workspace).acquire_owned().await.ok()?;
            let shared = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some(SharePermit { _permits: [own, shared] })
        };
        let permit = tokio::time::timeout(self.limits.wait_max, permits).await;
        permit.ok().flatten().ok_or(Error::Unavailable {
            what: self.limits.refused,
            retry_after: Some(self.limits.retry_after),
        })
    }

    /// The permits of a workspace, which exist while it has or awaits one.
    fn of(&self, workspace: WorkspaceId) -> Arc<Semaphore> {
        let mut workspaces = self.workspaces.lock();
        if let Some(permits) = workspaces.get(&workspace).and_then(Weak::upgrade) {
            return permits;
        }
        workspaces.retain(|_, permits| permits.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(self.limits.of_workspace));
        workspaces.insert(workspace, Arc::downgrade(&permits));
        permits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ShareLimits = ShareLimits {
        all: 4,
        of_workspace: 2,
        wait_max: Duration::ZERO,
        refused: "too much is being done",
        retry_after: Duration::from_secs(2),
    };

    fn workspace() -> WorkspaceId {
        WorkspaceId::new(uuid::Uuid::now_v7())
    }

    #[tokio::test]
    async fn one_workspace_leaves_permits_to_others() {
        let shares = Shares::new(LIMITS);
        let (busy, other) = (workspace(), workspace());
        let mut held = Vec::new();
        for _ in 0..LIMITS.of_workspace {
            held.push(shares.permit(busy).await.unwrap());
        }
        let refused = shares.permit(busy).await.unwrap_err();
        assert!(refused.is_unavailable());
        assert_eq!(refused.retry_after(), Some(LIMITS.retry_after));
        let others = shares.permit(other).await.unwrap();
        held.pop();
        drop(shares.permit(busy).await.unwrap());
        drop(others);
    }

    #[tokio::test]
    async fn a_workspace_that_waits_for_its_own_permits_holds_none_of_all() {
        let shares = Shares::new(ShareLimits { wait_max: Duration::from_hours(1), ..LIMITS });
        let busy = workspace();
        let mut held = Vec::new();
        for _ in 0..LIMITS.of_workspace {
            held.push(shares.permit(busy).await.unwrap());
        }
        let mut waits = std::pin::pin!(shares.permit(busy));
        assert!(tokio::time::timeout(Duration::ZERO, waits.as_mut()).await.is_err(), "it waits");
        assert_eq!(shares.all.available_permits(), LIMITS.all - LIMITS.of_workspace);
        held.pop();
        drop(waits.await.unwrap());
    }

    #[tokio::test]
    async fn all_workspaces_together_have_a_limit() {
        let shares = Shares::new(LIMITS);
        let mut held = Vec::new();
        for _ in 0..LIMITS.all {
            held.push(shares.permit(workspace()).await.unwrap());
        }
        assert!(shares.permit(workspace()).await.is_err());
        held.pop();
        drop(shares.permit(workspace()).await.unwrap());
    }

    #[tokio::test]
    async fn workspaces_without_permits_are_forgotten() {
        let shares = Shares::new(LIMITS);
        for _ in 0..100 {
            drop(shares.permit(workspace()).await.unwrap());
        }
        assert!(shares.workspaces.lock().len() <= 1);
    }
}
