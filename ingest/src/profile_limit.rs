//! The limit of what calls with public keys change about profiles.

use std::time::Duration;

use crate::{admit::calls::AdmittedCalls, record::Batch};

/// Limits what the calls of requests change about profiles.
pub trait ProfileLimit: std::fmt::Debug + Send + Sync {
    /// Counts the profile calls of a request, which are not recorded yet.
    ///
    /// # Errors
    /// Where there is no room for them.
    fn admit(&self, calls: &Batch) -> Result<(), NoRoom>;

    /// Counts admitted calls no longer: they could not be recorded.
    fn give_back(&self, calls: &Batch);
}

/// Why the profile calls of a request are not recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// There is room after this time.
    #[error("SDK keys of this workspace change more of profiles than there is room for")]
    Now(Duration),
    /// There is never room for so many.
    #[error("{0}")]
    Ever(String),
}

/// Profile calls of a request that are not recorded, although its events are.
#[derive(Debug)]
pub(crate) struct BeyondLimit {
    pub(crate) calls: Batch,
    pub(crate) reason: String,
}

impl BeyondLimit {
    /// Takes the profile calls out of a request that has events as well: some SDKs never send a refused request again, and
    /// events have no limit.
    pub(crate) fn take(
        limit: Option<&dyn ProfileLimit>,
        admitted: &mut AdmittedCalls,
    ) -> Result<Option<Self>, NoRoom> {
        let (Some(limit), Some(calls)) = (limit, &admitted.profiles) else { return Ok(None) };
        match limit.admit(calls) {
            Ok(()) => Ok(None),
            Err(no_room) if admitted.events.is_none() => Err(no_room),
            Err(no_room) => {
                let calls = admitted.profiles.take();
                Ok(calls.map(|calls| Self { calls, reason: no_room.to_string() }))
            }
        }
    }

    /// How many profile calls these are.
    pub(crate) fn count(&self) -> usize {
        self.calls.profile_calls().count()
    }
}
