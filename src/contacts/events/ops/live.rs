//! Watching events as they arrive in this process.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use ingest::{
    admit::calls::AdjustedCalls,
    live::{Arrival, ListenError, Listener, Wanted},
    record::{Batch, BatchKind},
    rejected::KeptRejection,
};
use kernel::{Error, Result, WorkspaceId};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use web::Services;

use crate::events::model::live::{
    AcceptedEvent, LiveFilter, LiveStatus, SHOWN_PER_SECOND, ShownEvents,
};

const SECOND: Duration = Duration::from_secs(1);
/// When to come back after a refusal because there are too many listeners.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What a listener is shown.
#[derive(Debug, Clone)]
pub enum LiveUpdate {
    Accepted(AcceptedEvent),
    Rejected(Arc<KeptRejection>),
    /// So many events of the last second were left out.
    Sampled(u64),
}

/// The events of a workspace that one caller watches.
#[derive(Debug)]
pub struct LiveWatch {
    listener: Listener,
    filter: LiveFilter,
    shown: ShownEvents,
    /// Of the current second.
    shown_count: u32,
    left_out: u64,
    seconds: Interval,
    ready: VecDeque<LiveUpdate>,
}

/// Watches the events of a workspace that arrive in this process.
///
/// # Errors
/// 429 when the workspace has too many listeners; 503 when there are too many in all, or the process is stopping.
pub fn watch(app: &Services, workspace: WorkspaceId, filter: LiveFilter) -> Result<LiveWatch> {
    let wanted = Wanted {
        accepted: filter.includes(LiveStatus::Accepted),
        rejected: filter.includes(LiveStatus::Rejected),
    };
    let listener = app.intake().live().listen(workspace.uuid(), wanted).map_err(refusal)?;
    let mut seconds = interval_at(Instant::now() + SECOND, SECOND);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Ok(LiveWatch {
        listener,
        filter,
        shown: ShownEvents::default(),
        shown_count: 0,
        left_out: 0,
        seconds,
        ready: VecDeque::new(),
    })
}

fn refusal(error: ListenError) -> Error {
    let unavailable = |what| Error::Unavailable { what, retry_after: Some(RETRY_AFTER) };
    match error {
        ListenError::OfWorkspace => Error::TooMany {
            what: "The workspace has 10 live streams open on this server, which is the most",
            retry_after: RETRY_AFTER,
        },
        ListenError::InAll => unavailable(
            "This server has 64 live streams open, which is the most; try another or later",
        ),
        ListenError::Closed => unavailable("This server is stopping"),
    }
}

impl LiveWatch {
    /// The next update; none once the process is stopping. Safe to cancel.
    pub async fn next(&mut self) -> Option<LiveUpdate> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Some(update);
            }
            tokio::select! {
                biased;
                _ = self.seconds.tick() => {
                    let left_out = std::mem::take(&mut self.left_out) + self.listener.take_missed();
                    self.shown_count = 0;
                    if left_out > 0 {
                        return Some(LiveUpdate::Sampled(left_out));
                    }
                }
                arrival = self.listener.next() => match arrival? {
                    Arrival::Accepted { batch, key_id, adjusted } => {
                        self.show_accepted(&batch, &key_id, adjusted.as_deref());
                    }
                    Arrival::Rejected(event) => self.show_rejected(event),
                }
            }
        }
    }

    fn show_accepted(&mut self, batch: &Batch, key_id: &str, adjusted: Option<&AdjustedCalls>) {
        let header = batch.header();
        if header.kind == BatchKind::Profiles {
            for call in batch.profile_calls() {
                let is_wanted = self.filter.accepts_profile_call(&call) && self.has_room();
                if is_wanted && self.shown.insert_profile_call(&call) {
                    let adjusted = adjusted.and_then(|it| it.of_profile_call(&call));
                    let shown = AcceptedEvent::of_profile_call(&call, header, key_id);
                    self.show(LiveUpdate::Accepted(AcceptedEvent { adjusted, ..shown }));
                }
            }
            return;
        }
        for event in batch.events() {
            let is_wanted = self.filter.accepts(&event) && self.has_room();
            if is_wanted && self.shown.insert(&event) {
                let adjusted = adjusted.and_then(|it| it.of_event(&event));
                let shown = AcceptedEvent::of(&event, header, key_id);
                self.show(LiveUpdate::Accepted(AcceptedEvent { adjusted, ..shown }));
            }
        }
    }

    fn show_rejected(&mut self, event: Arc<KeptRejection>) {
        if self.filter.accepts_refused(&event) && self.has_room() {
            self.show(LiveUpdate::Rejected(event));
        }
    }

    /// Whether another may be shown in this second; else it is counted as left out.
    fn has_room(&mut self) -> bool {
        let has_room = self.shown_count < SHOWN_PER_SECOND;
        self.left_out += u64::from(!has_room);
        has_room
    }

    fn show(&mut self, update: LiveUpdate) {
        self.shown_count += 1;
        self.ready.push_back(update);
    }
}

#[cfg(test)]
mod tests {
    use ingest::live;

    use super::*;

    #[test]
    fn refusals_name_the_limits() {
        let message = |error| refusal(error).message();
        let of_workspace = message(ListenError::OfWorkspace);
        assert!(
            of_workspace.contains(&live::WORKSPACE_LISTENERS_MAX.to_string()),
            "{of_workspace}"
        );
        let in_all = message(ListenError::InAll);
        assert!(in_all.contains(&live::LISTENERS_MAX.to_string()), "{in_all}");
    }
}
