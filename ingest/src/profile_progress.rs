//! How far the profile calls of the spool are applied: of most workspaces to one place, of a few that sent very many to another.

use std::collections::HashMap;

use tokio::sync::watch;
use uuid::Uuid;

use crate::spool::Position;

/// Positions of the spool before which profile calls are applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppliedCalls {
    /// Of every workspace that is not deferred.
    pub before: u64,
    /// Of each deferred workspace.
    pub deferred: HashMap<Uuid, u64>,
}

impl AppliedCalls {
    fn has_reached(&self, workspace: Uuid, end: Position) -> bool {
        self.deferred.get(&workspace).copied().unwrap_or(self.before) >= end.get()
    }
}

/// Says how far profile calls are applied, to those who wait for it.
#[derive(Debug)]
pub struct ProgressSender(watch::Sender<AppliedCalls>);

impl ProgressSender {
    /// Begins with no deferred workspace, and with everything applied before this place.
    pub fn begin(before: Position) -> Self {
        let before = before.get();
        Self(watch::Sender::new(AppliedCalls { before, deferred: HashMap::new() }))
    }

    /// Sets how far calls are applied.
    pub fn set(&self, applied: AppliedCalls) {
        self.0.send_if_modified(|known| {
            let is_new = *known != applied;
            *known = applied;
            is_new
        });
    }

    /// What others look at to see how far it is.
    pub fn progress(&self) -> Progress {
        Progress(self.0.subscribe())
    }
}

/// How far profile calls are applied by this process.
#[derive(Debug, Clone)]
pub struct Progress(watch::Receiver<AppliedCalls>);

/// Why a wait for profile calls is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// They are applied, or nothing applies calls any more.
    Applied,
    /// Their workspace is deferred: it may take long.
    Deferred,
}

impl Progress {
    /// Whether all calls of the workspace before `end` are applied.
    pub fn has_reached(&self, workspace: Uuid, end: Position) -> bool {
        self.0.borrow().has_reached(workspace, end)
    }

    /// Whether the calls of the workspace are applied later than those of others.
    pub fn is_deferred(&self, workspace: Uuid) -> bool {
        self.0.borrow().deferred.contains_key(&workspace)
    }

    /// Returns once all calls of the workspace before `end` are applied, or the workspace is deferred.
    pub async fn reached(&mut self, workspace: Uuid, end: Position) -> Waited {
        let is_over = |applied: &AppliedCalls| {
            applied.has_reached(workspace, end) || applied.deferred.contains_key(&workspace)
        };
        match self.0.wait_for(is_over).await {
            Ok(applied) if !applied.has_reached(workspace, end) => Waited::Deferred,
            // An error means that nothing applies calls any more.
            Ok(_) | Err(_) => Waited::Applied,
        }
    }
}
