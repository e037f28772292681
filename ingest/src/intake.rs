//! The ingest handle, where the write path begins: it admits a request's events, appends them to the spool and answers
//! once they are durable.
//!
//! Admission costs CPU only and runs on the caller's thread; then the batch waits for one group
//! commit of the spool. No answer is given before that, and no event of a request is stored when the
//! spool has no room for all of them.

use std::{
    cell::RefCell,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use metrics_catalogue::handle::{Counter, Histogram};
use traces::{KeyValue, SpanKind};
use uuid::Uuid;

use crate::{
    admit::{
        Admitted, Admitter, BodyError, Context, Rejected, Sender, Shape,
        calls::{Adjustments, AdmittedCalls, CallRules},
    },
    live::LiveEvents,
    profile_limit::{BeyondLimit, NoRoom, ProfileLimit},
    record::{Batch, MessageBatchBuilder, MessageEvent, Sequence},
    rejected::{EventSource, RejectedCalls, RejectedEvents},
    spool::{AppendError, Entry, Spool},
    window::{EventKey, Window},
};

thread_local! {
    /// Buffers of the parser, one set a worker thread.
    static ADMITTER: RefCell<Admitter> = RefCell::default();
}

/// Bytes of message events after which a frame ends. The event that crosses the limit is still in it.
const MESSAGE_FRAME_BYTES_MAX: usize = 256 << 10;
/// Frames of message events of one call that wait for the disk at one time.
const MESSAGE_FRAMES_IN_FLIGHT_MAX: usize = 8;
/// Pause before message events are appended again after the queue was full: about one group commit.
const QUEUE_FULL_PAUSE: Duration = Duration::from_millis(20);
/// Attempts to append one frame of message events while the queue is full.
const APPEND_TRIES_MAX: u32 = 100;

/// Settings of an [`Intake`].
#[derive(Debug, Clone, Copy)]
pub struct IntakeOptions {
    /// Recent ids of server-stamped events that are remembered.
    pub window_entries: usize,
    /// The largest arrival number given out before, see [`last_arrival_number`]; 0 for none.
    pub last_arrival_number: u64,
}

/// The result of a request, returned once the accepted events are durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Result of a request with a single event.
    One {
        /// The id it is stored under.
        event_id: String,
    },
    /// Result of a request with an array of events.
    Many {
        /// Elements of the array, valid or not.
        processed: usize,
        /// Elements recorded, repeats of recorded ones included.
        accepted: usize,
        /// The elements that were not recorded, in the order of the array.
        rejected: Vec<Rejected>,
    },
}

/// Where calls of an event SDK come from, and how they are read.
#[derive(Debug, Clone, Copy)]
pub struct CallOrigin<'a> {
    /// Whose key they came with.
    pub sender: Sender<'a>,
    /// The key, and its workspace.
    pub source: EventSource<'a>,
    /// How they are read.
    pub rules: CallRules,
    /// The limit of what they change about profiles; none of a server's.
    pub limit: Option<&'a dyn ProfileLimit>,
}

/// Result of a request of an event SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallsAnswer {
    /// Calls accepted, repeats of recorded ones included.
    pub accepted: usize,
    /// Calls that were rejected; they are reported.
    pub rejected: usize,
}

/// Why nothing of a request was recorded.
#[derive(Debug, thiserror::Error)]
pub enum TrackError {
    /// The body is no event and no array of events.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A single event that breaks rules: one message per failed field.
    #[error("event is invalid: {}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The queue or the disk is full; the request may be repeated later.
    #[error("no room: {0}")]
    Saturated(AppendError),
    /// The sender changes more of profiles than there is room for.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// Writing to the disk failed.
    #[error("event could not be stored")]
    Storage(#[source] AppendError),
}

/// The ingest handle. Clones share one spool, window and sequence.
#[derive(Clone)]
pub struct Intake(Arc<Inner>);

struct Inner {
    spool: Spool,
    window: Window,
    window_entries: usize,
    sequence: Sequence,
    live: LiveEvents,
    rejected: RejectedEvents,
    counters: Counters,
    validate_seconds: Histogram,
}

impl Inner {
    /// What surrounds a request that no one watches.
    fn context<'a>(
        &'a self,
        source: EventSource<'a>,
        sender: Sender<'a>,
        received_at_ms: i64,
    ) -> Context<'a> {
        Context {
            workspace_id: source.workspace_id,
            key_id: source.key_id,
            received_at_ms,
            window: &self.window,
            sequence: &self.sequence,
            sender,
            is_watched: false,
        }
    }
}

struct Counters {
    accepted: Counter,
    rejected: Counter,
    message_events: Counter,
    profile_calls: Counter,
    renamed: Counter,
    cut: Counter,
    dropped: Counter,
    refused_queue: Counter,
    refused_disk: Counter,
    refused_storage: Counter,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake").field("spool", &self.0.spool).finish_non_exhaustive()
    }
}

impl Counters {
    fn register() -> Self {
        let refused = |reason| metrics_catalogue::INGEST_REQUESTS_REFUSED.with([reason]);
        let adjusted = |how| metrics_catalogue::INGEST_CALLS_ADJUSTED.with([how]);
        Self {
            accepted: metrics_catalogue::INGEST_EVENTS_ACCEPTED.handle(),
            rejected: metrics_catalogue::INGEST_EVENTS_REJECTED.with(["invalid"]),
            message_events: metrics_catalogue::INGEST_MESSAGE_EVENTS.handle(),
            profile_calls: metrics_catalogue::INGEST_PROFILE_CALLS.handle(),
            renamed: adjusted("renamed"),
            cut: adjusted("cut"),
            dropped: adjusted("dropped"),
            refused_queue: refused("queue_full"),
            refused_disk: refused("spool_full"),
            refused_storage: refused("storage"),
        }
    }

    fn adjust(&self, Adjustments { renamed, cut, dropped }: Adjustments) {
        self.renamed.increment(renamed);
        self.cut.increment(cut);
        self.dropped.increment(dropped);
    }

    fn refuse(&self, error: &AppendError) {
        match error {
            AppendError::QueueFull | AppendError::Closed | AppendError::Restarting => {
                self.refused_queue.increment(1);
            }
            AppendError::Full { .. } => self.refused_disk.increment(1),
            AppendError::TooLarge { .. } | AppendError::Io(_) => self.refused_storage.increment(1),
        }
    }
}

impl Intake {
    /// Makes a handle that appends to `spool`.
    pub fn new(spool: Spool, options: IntakeOptions) -> Self {
        let live = LiveEvents::default();
        Self(Arc::new(Inner {
            spool,
            window: Window::with_capacity(options.window_entries),
            window_entries: options.window_entries,
            sequence: Sequence::after(options.last_arrival_number),
            rejected: RejectedEvents::new(live.clone()),
            live,
            counters: Counters::register(),
            validate_seconds: metrics_catalogue::INGEST_STAGE_DURATION_SECONDS.with(["validate"]),
        }))
    }

    /// Ids of server-stamped events that are remembered at most.
    pub fn window_entries_max(&self) -> usize {
        self.0.window_entries
    }

    /// The source of this node's arrival numbers.
    pub fn sequence(&self) -> &Sequence {
        &self.0.sequence
    }

    /// Shows events to listeners as they arrive.
    pub fn live(&self) -> &LiveEvents {
        &self.0.live
    }

    /// Takes the events that are refused; those of this handle's requests are in it already.
    pub fn rejected(&self) -> &RejectedEvents {
        &self.0.rejected
    }

    /// Remembers a server-stamped event that was recorded before this process started.
    pub fn remember(&self, key: EventKey<'_>, timestamp_ms: i64) {
        self.0.window.seed(key, timestamp_ms);
    }

    /// Records the event or events of a request's body; returns once they are durable.
    ///
    /// # Errors
    /// When the body has not the shape of a request, when a single event breaks a rule, or when the
    /// spool cannot take it. Nothing of the request is recorded then.
    pub async fn track(
        &self,
        source: EventSource<'_>,
        body: Vec<u8>,
        received_at_ms: i64,
    ) -> Result<Answer, TrackError> {
        self.track_from(Sender::Server, source, body, received_at_ms).await
    }

    /// Like [`Self::track`], for a request that came with the key of this sender.
    ///
    /// # Errors
    /// As those of [`Self::track`].
    pub async fn track_from(
        &self,
        sender: Sender<'_>,
        source: EventSource<'_>,
        body: Vec<u8>,
        received_at_ms: i64,
    ) -> Result<Answer, TrackError> {
        let inner = &*self.0;
        let start = Instant::now();
        let admitted = ADMITTER.with_borrow_mut(|admitter| {
            let context = inner.context(source, sender, received_at_ms);
            admitter.admit(&body, &context)
        });
        inner.validate_seconds.record(start.elapsed());
        let Admitted { shape, processed, accepted, event_id, rejected, batch, claims } = admitted?;
        // Reported once the spool has the accepted events: before that the sender may have to send all of them again.
        let body = if rejected.is_empty() {
            drop(body);
            Vec::new()
        } else {
            body
        };
        inner.counters.rejected.increment(rejected.len() as u64);
        if let Some(batch) = batch {
            self.append_or_refuse(&batch, batch.header().count).await?;
            inner.window.confirm(&claims);
            inner.live.offer_accepted(source, &batch);
        }
        if !rejected.is_empty() {
            inner.rejected.report_elements(source, received_at_ms, &body, &rejected);
        }
        inner.counters.accepted.increment(accepted as u64);
        match (shape, event_id) {
            (Shape::One, Some(event_id)) => Ok(Answer::One { event_id }),
            (Shape::One, None) => {
                Err(TrackError::Invalid(rejected.into_iter().flat_map(|one| one.errors).collect()))
            }
            (Shape::Many, _) => Ok(Answer::Many { processed, accepted, rejected }),
        }
    }

    /// Records the calls of a request of an event SDK; returns once all that is valid is durable.
    ///
    /// # Errors
    /// When the body has no call, or the limit or the spool no room. Some may be recorded in the last case: each once.
    pub async fn track_calls(
        &self,
        origin: CallOrigin<'_>,
        body: Vec<u8>,
        received_at_ms: i64,
    ) -> Result<CallsAnswer, TrackError> {
        let CallOrigin { sender, source, rules, limit } = origin;
        let inner = &*self.0;
        let start = Instant::now();
        let admitted = ADMITTER.with_borrow_mut(|admitter| {
            let is_watched = inner.live.has_listeners(source.workspace_id);
            let context = inner.context(source, sender, received_at_ms);
            let context = Context { is_watched, ..context };
            admitter.admit_calls(&body, rules, &context)
        });
        inner.validate_seconds.record(start.elapsed());
        let mut admitted = admitted?;
        let beyond = BeyondLimit::take(limit, &mut admitted)?;
        let beyond_count = beyond.as_ref().map_or(0, BeyondLimit::count);
        let AdmittedCalls { accepted, rejected, rejected_count, adjusted, notes, .. } = admitted;
        let (events, profiles, claims) = (admitted.events, admitted.profiles, admitted.claims);
        // As for tracked events, what was refused is reported once the others are durable.
        let body = if rejected.is_empty() {
            drop(body);
            Vec::new()
        } else {
            body
        };
        inner.counters.rejected.increment((rejected_count + beyond_count) as u64);
        let events_durable = async {
            let Some(batch) = events else { return Ok(()) };
            self.append_or_refuse(&batch, batch.header().count).await?;
            inner.window.confirm(&claims);
            inner.live.offer_calls(source, &batch, notes.as_ref());
            Ok(())
        };
        let profiles_durable = async {
            let Some(batch) = profiles else { return Ok(()) };
            if let Err(error) = self.append_or_refuse(&batch, 0).await {
                limit.inspect(|limit| limit.give_back(&batch));
                return Err(error);
            }
            inner.counters.profile_calls.increment(u64::from(batch.header().count));
            inner.live.offer_calls(source, &batch, notes.as_ref());
            Ok::<(), TrackError>(())
        };
        // Polled in this order, profile calls come first in the spool: events after them find the profiles.
        futures_util::future::try_join(profiles_durable, events_durable).await?;
        if let Some(batch) = notes.as_ref().and_then(|notes| notes.without_user.as_ref()) {
            inner.live.offer_calls(source, batch, notes.as_ref());
        }
        if !rejected.is_empty() {
            let rejected = RejectedCalls { named: &rejected, in_all: rejected_count };
            inner.rejected.report_calls(source, received_at_ms, &body, rejected);
        }
        if let Some(beyond) = &beyond {
            inner.rejected.report_beyond(source, received_at_ms, beyond);
        }
        let (accepted, rejected) =
            (accepted.saturating_sub(beyond_count), rejected_count + beyond_count);
        inner.counters.accepted.increment(accepted as u64);
        inner.counters.adjust(adjusted);
        Ok(CallsAnswer { accepted, rejected })
    }

    /// Appends a batch that a caller waits for, and counts it where there is no room.
    async fn append_or_refuse(&self, batch: &Batch, events: u32) -> Result<(), TrackError> {
        let entry = Entry {
            payload: batch.as_bytes().clone(),
            events,
            at_ms: batch.header().received_at_ms.unsigned_abs(),
        };
        let span = traces::step("spool", SpanKind::Internal);
        span.describe(|| [KeyValue::new("millrace.events", i64::from(events))]);
        let appended = span.around(self.0.spool.append(entry)).await.map(drop);
        appended.map_err(|error| {
            span.fail("the spool did not take the events");
            self.0.counters.refuse(&error);
            saturated_or_broken(error)
        })
    }

    /// Appends message lifecycle events to the spool, in no order; returns once they are durable. Appending is
    /// idempotent (message, kind, event id): a retry does not count an event twice.
    ///
    /// # Errors
    /// When the spool cannot take all of them. Some may be recorded then: append all of them again.
    pub async fn append_message_events(
        &self,
        workspace_id: Uuid,
        events: &[MessageEvent<'_>],
        at_ms: i64,
    ) -> Result<(), TrackError> {
        let frames = self.frames(workspace_id, events, at_ms);
        stream::iter(frames)
            .map(|frame| self.append_patiently(Entry::from(&frame)))
            .buffered(MESSAGE_FRAMES_IN_FLIGHT_MAX)
            .try_collect::<()>()
            .await
            .map_err(saturated_or_broken)?;
        self.0.counters.message_events.increment(events.len() as u64);
        Ok(())
    }

    /// Message events cut into batches of a bounded size, in order.
    fn frames(&self, workspace_id: Uuid, events: &[MessageEvent<'_>], at_ms: i64) -> Vec<Batch> {
        let sequence = &self.0.sequence;
        let finish = |builder: MessageBatchBuilder| {
            let first_seq = sequence.reserve(builder.count(), at_ms);
            builder.finish(workspace_id, at_ms, first_seq)
        };
        let mut frames = Vec::new();
        let mut open = MessageBatchBuilder::default();
        for event in events {
            open.push(event);
            if open.bytes() >= MESSAGE_FRAME_BYTES_MAX {
                frames.extend(finish(std::mem::take(&mut open)));
            }
        }
        frames.extend(finish(open));
        frames
    }

    /// Waits for room in the queue, because no caller would retry; does not wait for room on the disk.
    async fn append_patiently(&self, entry: Entry) -> Result<(), AppendError> {
        for _ in 1..APPEND_TRIES_MAX {
            match self.0.spool.append(entry.clone()).await {
                Err(AppendError::QueueFull) => tokio::time::sleep(QUEUE_FULL_PAUSE).await,
                appended => return appended.map(drop),
            }
        }
        self.0.spool.append(entry).await.map(drop)
    }
}

/// The largest arrival number among the newest frames of a spool; 0 when there are none.
///
/// # Errors
/// When a segment cannot be opened.
pub fn last_arrival_number(spool: &Spool) -> std::io::Result<u64> {
    let mut last = 0;
    spool.for_each_recent(|payload| {
        // A payload that is no batch has no arrival number.
        if let Ok(header) = Batch::header_of(payload) {
            last = last.max(header.first_seq.saturating_add(u64::from(header.count)));
        }
    })?;
    Ok(last)
}

fn saturated_or_broken(error: AppendError) -> TrackError {
    match error {
        AppendError::Full { .. }
        | AppendError::QueueFull
        | AppendError::Restarting
        | AppendError::Closed => TrackError::Saturated(error),
        AppendError::TooLarge { .. } | AppendError::Io(_) => TrackError::Storage(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        record::{BatchKind, MESSAGE_TEXT_BYTES_MAX, MessageKind},
        spool::{Durability, SpoolOptions},
    };

    fn options(dir: &std::path::Path) -> SpoolOptions {
        SpoolOptions {
            dir: dir.to_owned(),
            segment_bytes: 1024,
            limit_bytes: 64 << 20,
            reserve_bytes: 0,
            queue_bytes: 300 << 10,
            durability: Durability::Os,
        }
    }

    #[tokio::test]
    async fn arrival_numbers_continue_after_a_restart_with_an_earlier_clock() {
        const NOON_MS: i64 = 1_772_366_400_000;
        let dir = tempfile::tempdir().unwrap();
        let source = EventSource { workspace_id: Uuid::from_u128(7), key_id: "", is_public: false };
        let body = br#"{"userId":"ann","eventName":"A"}"#;
        let mut seqs = Vec::new();
        // At each start the clock is an hour behind the previous start's.
        for start in 0..3 {
            let (spool, _) = Spool::open(options(dir.path())).unwrap();
            let last_arrival_number = last_arrival_number(&spool).unwrap();
            assert_eq!(last_arrival_number > 0, start > 0);
            let options = IntakeOptions { window_entries: 16, last_arrival_number };
            let intake = Intake::new(spool.clone(), options);
            for _ in 0..20 {
                intake.track(source, body.to_vec(), NOON_MS - start * 3_600_000).await.unwrap();
            }
            spool.close().await;
        }
        let (spool, _) = Spool::open(options(dir.path())).unwrap();
        let mut consumer = spool.consumer("test").unwrap();
        while let Some(frame) = consumer.receive(Duration::from_millis(50)).unwrap() {
            let batch = Batch::from_bytes(frame.payload).unwrap();
            seqs.extend(batch.events().map(|event| event.seq));
        }
        assert_eq!(seqs.len(), 60);
        assert!(seqs.is_sorted_by(|one, next| one < next), "{seqs:?}");
    }

    #[tokio::test]
    async fn refused_events_are_reported_with_their_text() {
        let dir = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(options(dir.path())).unwrap();
        let intake = Intake::new(
            spool.clone(),
            IntakeOptions { window_entries: 16, last_arrival_number: 0 },
        );
        let source =
            EventSource { workspace_id: Uuid::from_u128(7), key_id: "key", is_public: false };
        let track = async |body: &str| intake.track(source, body.into(), 1_000).await;
        track(r#"[{"userId":"u","eventName":"A"},{ "eventName":"B" },{},[7]]"#).await.unwrap();
        track(r#" {"userId":"ann"} "#).await.unwrap_err();
        track("{}").await.unwrap_err();
        track("[]").await.unwrap_err();
        let batch = intake.rejected().take();
        let texts: Vec<_> = batch.events.iter().map(|event| event.body.as_str()).collect();
        let whole = [r#"{ "eventName":"B" }"#, "{}", "[7]", r#"{"userId":"ann"}"#, "{}"];
        assert_eq!(texts, whole);
        assert_eq!(batch.events[0].name.as_deref(), Some("B"));
        assert_eq!(batch.events[3].reason, "eventName is required");
        // What could not be stored is sent again, so it is not reported yet.
        spool.close().await;
        track(r#"[{"userId":"u","eventName":"A"},{}]"#).await.unwrap_err();
        assert!(intake.rejected().take().is_empty());
    }

    #[tokio::test]
    async fn message_events_are_appended_in_frames_of_bounded_size() {
        let dir = tempfile::tempdir().unwrap();
        let options = SpoolOptions {
            dir: dir.path().to_owned(),
            segment_bytes: 1 << 20,
            limit_bytes: 64 << 20,
            reserve_bytes: 0,
            // Smaller than one call's events, so that appending has to wait for room.
            queue_bytes: 300 << 10,
            durability: Durability::Os,
        };
        let (spool, _) = Spool::open(options).unwrap();
        let intake = Intake::new(
            spool.clone(),
            IntakeOptions { window_entries: 16, last_arrival_number: 0 },
        );
        let reason = "x".repeat(MESSAGE_TEXT_BYTES_MAX);
        let events: Vec<_> = (0..200)
            .map(|number| MessageEvent {
                kind: MessageKind::Failed,
                message_id: Uuid::from_u128(number),
                reason: &reason,
                ..MessageEvent::default()
            })
            .collect();
        intake.append_message_events(Uuid::from_u128(7), &events, 1_000).await.unwrap();
        intake.append_message_events(Uuid::from_u128(7), &[], 1_000).await.unwrap();

        let mut consumer = spool.consumer("test").unwrap();
        let (mut read, mut seqs) = (Vec::new(), Vec::new());
        while let Some(frame) = consumer.receive(Duration::from_millis(50)).unwrap() {
            assert!(frame.payload.len() <= MESSAGE_FRAME_BYTES_MAX + 2 * MESSAGE_TEXT_BYTES_MAX);
            let batch = Batch::from_bytes(frame.payload).unwrap();
            assert_eq!(batch.header().kind, BatchKind::Messages);
            assert_eq!(frame.events, batch.header().count);
            seqs.extend(batch.messages().map(|event| event.seq));
            read.extend(batch.messages().map(|event| event.message_id.as_u128()));
        }
        // Frames that had to wait for room come after those that did not.
        read.sort_unstable();
        assert_eq!(read, (0..200).collect::<Vec<u128>>());
        seqs.sort_unstable();
        assert!(seqs.is_sorted_by(|one, next| one < next), "arrival numbers are distinct");
    }
}
