//! Verifies user tokens with a cache of each workspace's keys, refreshed every second.

use std::{collections::HashMap, sync::Arc, time::Duration};

use engines::vault::Vault;
use kernel::{Clock, Result, Timestamp, WorkspaceId};
use parking_lot::Mutex;
use sqlx::PgPool;

use super::token_keys;
use crate::{model::TokenKeys, store::token_keys as store};

/// How long cached keys are used: a removed key is refused within a second.
const AGE_MAX: Duration = Duration::from_secs(1);
const WORKSPACES_MAX: usize = 1000;

/// Verifies user tokens. Clones share the cache.
#[derive(Debug, Clone)]
pub struct UserTokens(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    db: PgPool,
    vault: Vault,
    clock: Clock,
    read: Mutex<HashMap<WorkspaceId, Read>>,
}

#[derive(Debug, Clone)]
struct Read {
    at: Timestamp,
    keys: Arc<TokenKeys>,
}

impl Read {
    fn is_good(&self, now: Timestamp) -> bool {
        now >= self.at && now.duration_since(self.at) < AGE_MAX
    }
}

impl UserTokens {
    pub fn new(db: PgPool, vault: Vault, clock: Clock) -> Self {
        Self(Arc::new(Inner { db, vault, clock, read: Mutex::default() }))
    }

    /// The external id of the token's person.
    ///
    /// # Errors
    /// Unauthenticated for an invalid token.
    pub async fn verify(&self, workspace: WorkspaceId, token: &str) -> Result<String> {
        let now = self.0.clock.now();
        self.keys(workspace, now).await?.verify(token, now)
    }

    async fn keys(&self, workspace: WorkspaceId, now: Timestamp) -> Result<Arc<TokenKeys>> {
        let inner = &self.0;
        let known = inner.read.lock().get(&workspace).cloned();
        if let Some(read) = known.filter(|read| read.is_good(now)) {
            return Ok(read.keys);
        }
        let secrets = store::secrets(&inner.db, workspace, now)
            .await?
            .iter()
            .map(|sealed| token_keys::opened(&inner.vault, workspace, sealed))
            .collect::<Result<Vec<_>>>()?;
        let public = store::public_keys(&inner.db, workspace).await?;
        let public = public.into_iter().map(|registered| registered.key).collect();
        let keys = Arc::new(TokenKeys::new(&secrets, public));
        let mut all = inner.read.lock();
        if all.len() >= WORKSPACES_MAX {
            all.retain(|_, read| read.is_good(now));
        }
        if all.len() < WORKSPACES_MAX {
            all.insert(workspace, Read { at: now, keys: Arc::clone(&keys) });
        }
        Ok(keys)
    }
}
