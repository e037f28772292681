//! What is changed about valid calls, and which of them, for listeners.

use std::{collections::HashMap, ops::AddAssign, sync::Arc};

use uuid::Uuid;

use crate::record::{Batch, BatchBuilder, EventView, ProfileBatchBuilder, ProfileCall};

/// Adjusted calls of one request that are noted for listeners, who are shown fewer in a second.
const NOTED_MAX: usize = 500;

/// What was changed about valid calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Adjustments {
    /// Names that were replaced by those that are used here.
    pub renamed: u64,
    /// Parts of contexts that break a limit of properties.
    pub cut: u64,
    /// Traits without a user, and those that a key may not set.
    pub dropped: u64,
}

impl AddAssign for Adjustments {
    fn add_assign(&mut self, other: Self) {
        self.renamed += other.renamed;
        self.cut += other.cut;
        self.dropped += other.dropped;
    }
}

/// Calls of one request that were adjusted, by the ids of their records.
#[derive(Debug, Default)]
pub struct AdjustedCalls {
    events: HashMap<String, Adjustments>,
    profile_calls: HashMap<String, Adjustments>,
    bytes: usize,
}

impl AdjustedCalls {
    /// What was changed about an event; none where nothing was.
    pub fn of_event(&self, event: &EventView<'_>) -> Option<Adjustments> {
        self.events.get(event.event_id).copied()
    }

    /// Likewise about a change of a profile.
    pub fn of_profile_call(&self, call: &ProfileCall<'_>) -> Option<Adjustments> {
        self.profile_calls.get(call.call_id).copied()
    }

    /// Bytes of what is noted.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What listeners are shown of calls beside their records. It is noted only while someone listens.
#[derive(Debug, Default)]
pub(super) struct CallNotes {
    adjusted: AdjustedCalls,
    /// Calls that change no profile, since they name no user. They are not stored.
    pub(super) without_user: ProfileBatchBuilder,
}

impl CallNotes {
    /// Notes what was changed about the event at this position; none is there if it is a repeat.
    pub(super) fn event(&mut self, builder: &BatchBuilder, position: usize, made: Adjustments) {
        if self.takes(made)
            && let Some(event) = builder.event_at(position)
        {
            self.adjusted.bytes += bytes_of(event.event_id);
            *self.adjusted.events.entry(event.event_id.to_owned()).or_default() += made;
        }
    }

    /// Likewise about a change of a profile.
    pub(super) fn profile_call(
        &mut self,
        builder: &ProfileBatchBuilder,
        position: usize,
        made: Adjustments,
    ) {
        if self.takes(made)
            && let Some(call) = builder.call_at(position)
        {
            self.adjusted.bytes += bytes_of(call.call_id);
            *self.adjusted.profile_calls.entry(call.call_id.to_owned()).or_default() += made;
        }
    }

    /// Likewise about the last call without a user.
    pub(super) fn without_user(&mut self, position: usize, made: Adjustments) {
        let calls = std::mem::take(&mut self.without_user);
        self.profile_call(&calls, position, made);
        self.without_user = calls;
    }

    fn takes(&self, made: Adjustments) -> bool {
        let noted = self.adjusted.events.len() + self.adjusted.profile_calls.len();
        made != Adjustments::default() && noted < NOTED_MAX
    }

    pub(super) fn finish(self, workspace_id: Uuid, received_at_ms: i64) -> LiveNotes {
        LiveNotes {
            adjusted: Arc::new(self.adjusted),
            without_user: self.without_user.finish(workspace_id, received_at_ms, 0),
        }
    }
}

fn bytes_of(id: &str) -> usize {
    id.len() + size_of::<Adjustments>()
}

/// What listeners are shown of the calls of a request beside their records.
#[derive(Debug, Clone)]
pub struct LiveNotes {
    /// The calls that were adjusted.
    pub adjusted: Arc<AdjustedCalls>,
    /// Calls that change no profile, since they name no user; none where each does. They are not stored.
    pub without_user: Option<Batch>,
}
