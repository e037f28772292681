//! Reads the spool in batches: the events since the last batch, soon after the first of them.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ingest::{
    record::{Batch, BatchKind},
    spool::{ConsumeError, Consumer, Frame, Mark, Position},
};
use kernel::WorkspaceId;
use supervisor::Suspects;

/// The longest wait for events, after which the caller checks whether it is stopping.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// How long a batch waits for more events after its first. Live triggers are read once a batch.
const LINGER: Duration = Duration::from_millis(50);
/// Bytes of events after which a batch ends.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// Events that are processed together.
#[derive(Debug)]
pub(super) struct EventBatch {
    pub(super) payloads: Vec<Bytes>,
    /// Events in the payloads.
    pub(super) events: u64,
    /// The position of its first frame.
    pub(super) first: u64,
    /// Its frames, those without events included.
    pub(super) frames: u64,
    /// Frames that were left out, because processing them panicked.
    pub(super) left_out: u64,
    /// Where the last profile calls of each workspace end.
    pub(super) profile_calls: HashMap<WorkspaceId, Position>,
    pub(super) end: Mark,
    bytes: usize,
}

/// The spool, batch by batch.
#[derive(Debug)]
pub(super) struct EventBatches {
    consumer: Consumer,
}

impl EventBatches {
    pub(super) fn of(consumer: Consumer) -> Self {
        Self { consumer }
    }

    /// The next batch; none without events. Frames that were read before a read error are a batch, too: the consumer
    /// does not return them again.
    ///
    /// # Errors
    /// The spool is closed and fully read, or cannot be read; then the call may be tried again.
    pub(super) fn next(&mut self, suspects: &Suspects) -> Result<Option<EventBatch>, ConsumeError> {
        let mut batch: Option<EventBatch> = None;
        let mut timeout = WAIT_MAX;
        let mut since = None;
        loop {
            let frame = match self.consumer.receive(timeout) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(batch),
                Err(error) if batch.is_none() => return Err(error),
                Err(error) => {
                    // The next call returns it again, unless it was temporary.
                    tracing::warn!(%error, "triggers could not read on in the spool, trying again");
                    return Ok(batch);
                }
            };
            let (first, end) = (frame.position.get(), frame.end());
            let batch = batch.get_or_insert_with(|| EventBatch::new(first, end));
            batch.frames += 1;
            batch.end = end;
            batch.add(frame, suspects);
            let since: &Instant = since.get_or_insert_with(Instant::now);
            timeout = LINGER.saturating_sub(since.elapsed());
            let is_full =
                batch.bytes >= BATCH_BYTES_MAX || batch.frames >= suspects.together(batch.first);
            if is_full || timeout.is_zero() {
                break;
            }
        }
        Ok(batch)
    }
}

impl EventBatch {
    fn new(first: u64, end: Mark) -> Self {
        Self {
            payloads: Vec::new(),
            events: 0,
            first,
            frames: 0,
            left_out: 0,
            profile_calls: HashMap::new(),
            end,
            bytes: 0,
        }
    }

    fn add(&mut self, frame: Frame, suspects: &Suspects) {
        let Ok(header) = Batch::header_of(&frame.payload) else { return };
        match header.kind {
            BatchKind::Events if suspects.is_left_out(frame.position.get()) => self.left_out += 1,
            BatchKind::Events => {
                self.bytes += frame.payload.len();
                self.events += u64::from(frame.events);
                self.payloads.push(frame.payload);
            }
            BatchKind::Profiles => {
                let workspace = WorkspaceId::new(header.workspace_id);
                self.profile_calls.insert(workspace, frame.end().position);
            }
            // They trigger nothing.
            BatchKind::Messages => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fmt::Debug,
        io,
        path::Path,
        sync::{
            Arc,
            atomic::{AtomicBool, AtomicU32, Ordering},
        },
    };

    use ingest::{
        record::{BatchBuilder, EventView},
        spool::{Disk, Durability, Entry, Files, Spool, SpoolFile, SpoolOptions},
    };
    use uuid::Uuid;

    use super::*;

    /// A disk whose reads fail every other time, once that is asked for.
    #[derive(Debug, Default)]
    struct Flaky {
        fails: Arc<AtomicBool>,
        reads: Arc<AtomicU32>,
    }

    #[derive(Debug)]
    struct FlakyFile {
        file: Box<dyn SpoolFile>,
        fails: Arc<AtomicBool>,
        reads: Arc<AtomicU32>,
    }

    impl SpoolFile for FlakyFile {
        fn length(&self) -> io::Result<u64> {
            self.file.length()
        }
        fn allocate(&self, bytes: u64) -> io::Result<()> {
            self.file.allocate(bytes)
        }
        fn truncate(&self, bytes: u64) -> io::Result<()> {
            self.file.truncate(bytes)
        }
        fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
            self.file.write_at(data, offset)
        }
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let fails = self.fails.load(Ordering::Relaxed);
            if fails && self.reads.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                return Err(io::Error::other("this read fails"));
            }
            self.file.read_at(buffer, offset)
        }
        fn sync(&self) -> io::Result<()> {
            self.file.sync()
        }
    }

    impl Files for Flaky {
        fn create_dir(&self, dir: &Path) -> io::Result<()> {
            Disk.create_dir(dir)
        }
        fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
            Disk.list(dir)
        }
        fn lock(&self, path: &Path) -> io::Result<Box<dyn Debug + Send + Sync>> {
            Disk.lock(path)
        }
        fn is_held(&self, path: &Path) -> io::Result<bool> {
            Disk.is_held(path)
        }
        fn open(&self, path: &Path) -> io::Result<Box<dyn SpoolFile>> {
            let (fails, reads) = (Arc::clone(&self.fails), Arc::clone(&self.reads));
            Ok(Box::new(FlakyFile { file: Disk.open(path)?, fails, reads }))
        }
        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            Disk.rename(from, to)
        }
        fn remove(&self, path: &Path) -> io::Result<()> {
            Disk.remove(path)
        }
        fn sync_dir(&self, dir: &Path) -> io::Result<()> {
            Disk.sync_dir(dir)
        }
        fn available_bytes(&self, dir: &Path) -> io::Result<u64> {
            Disk.available_bytes(dir)
        }
    }

    fn batch(number: u64) -> Batch {
        let mut builder = BatchBuilder::with_capacity(0);
        let properties = format!("{{\"a\":\"{}\"}}", "x".repeat(20_000));
        builder.push(&EventView {
            event_name: "Page Viewed",
            user_id: "ann",
            event_id: &number.to_string(),
            properties: &properties,
            ..EventView::default()
        });
        builder.finish(Uuid::from_u128(7), 1_700_000_000_000, number << 12).unwrap()
    }

    #[tokio::test]
    async fn no_event_is_lost_when_each_read_of_the_spool_fails_once() {
        let dir = tempfile::tempdir().unwrap();
        let files = Arc::new(Flaky::default());
        let (fails, reads) = (Arc::clone(&files.fails), Arc::clone(&files.reads));
        let options = SpoolOptions {
            dir: dir.path().to_owned(),
            segment_bytes: 1 << 20,
            limit_bytes: 64 << 20,
            reserve_bytes: 0,
            queue_bytes: 16 << 20,
            durability: Durability::Os,
        };
        let (spool, _) = Spool::open_on(files, options).unwrap();
        let consumer = spool.consumer("test").unwrap();
        for number in 0..150 {
            spool.append(Entry::from(&batch(number))).await.unwrap();
        }
        spool.close().await;
        fails.store(true, Ordering::Relaxed);

        let mut batches = EventBatches::of(consumer);
        let mut read = Vec::new();
        loop {
            match batches.next(&Suspects::default()) {
                Ok(Some(batch)) => {
                    for payload in batch.payloads {
                        let batch = Batch::from_bytes(payload).unwrap();
                        read.extend(batch.events().map(|event| event.event_id.to_owned()));
                    }
                }
                Ok(None) | Err(ConsumeError::Io(_)) => {}
                Err(ConsumeError::Closed) => break,
            }
        }
        assert!(reads.load(Ordering::Relaxed) > 10, "several reads failed");
        assert_eq!(read, (0..150).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
