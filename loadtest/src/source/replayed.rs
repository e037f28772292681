//! Events from a file: one JSON object a line in track's shape, gzip or plain, held in memory as finished bodies.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    ops::Range,
    path::Path,
    sync::Arc,
};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use super::{Batch, BatchIds, EVENTS_PER_REQUEST_MAX, EventSource};

const ID_FIELD: &[u8] = b"\"clientEventId\":\"";
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug)]
struct Block {
    body: Bytes,
    spans: Arc<[Range<u32>]>,
}

/// The events of a file, in order, as often as asked.
#[derive(Debug)]
pub struct Replay {
    blocks: Vec<Block>,
    events: u64,
    repeat: u64,
}

impl Replay {
    /// Reads the whole file. Batches hold `batch` events; from the second round on every `clientEventId` gets
    /// `~ROUND` appended, so that each round is new events.
    ///
    /// # Errors
    /// An unreadable file, or a line without a `clientEventId`.
    pub fn open(path: &Path, batch: usize, repeat: u64) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let zipped = file.fill_buf()?.starts_with(&GZIP_MAGIC);
        let source: Box<dyn Read> =
            if zipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        Self::read(BufReader::with_capacity(1 << 20, source), batch, repeat)
            .with_context(|| format!("cannot replay {}", path.display()))
    }

    /// As [`Replay::open`], from any reader.
    ///
    /// # Errors
    /// As [`Replay::open`].
    pub fn read(mut lines: impl BufRead, batch: usize, repeat: u64) -> Result<Self> {
        ensure!(
            (1..=EVENTS_PER_REQUEST_MAX).contains(&batch),
            "a request holds 1 to {EVENTS_PER_REQUEST_MAX} events"
        );
        ensure!(repeat >= 1, "a file is replayed at least once");
        let mut builder =
            Builder { batch, body: Vec::new(), spans: Vec::new(), blocks: Vec::new(), events: 0 };
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            if lines.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let event = line.trim_ascii();
            if !event.is_empty() {
                builder.add(event).with_context(|| format!("line {number}"))?;
            }
        }
        builder.finish();
        ensure!(builder.events > 0, "there is no event in it");
        Ok(Self { blocks: builder.blocks, events: builder.events, repeat })
    }
}

struct Builder {
    batch: usize,
    body: Vec<u8>,
    spans: Vec<Range<u32>>,
    blocks: Vec<Block>,
    events: u64,
}

impl Builder {
    fn add(&mut self, event: &[u8]) -> Result<()> {
        let Some(span) = id_span(event) else { bail!("no clientEventId in it") };
        if self.batch > 1 {
            self.body.push(if self.spans.is_empty() { b'[' } else { b',' });
        }
        let base = self.body.len();
        self.body.extend_from_slice(event);
        self.spans.push(u32::try_from(base + span.start)?..u32::try_from(base + span.end)?);
        self.events += 1;
        if self.spans.len() == self.batch {
            self.finish();
        }
        Ok(())
    }

    fn finish(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        if self.batch > 1 {
            self.body.push(b']');
        }
        let body = Bytes::from(std::mem::take(&mut self.body).into_boxed_slice());
        let spans = std::mem::take(&mut self.spans).into();
        self.blocks.push(Block { body, spans });
    }
}

/// Where the text of `clientEventId` stands in an event's JSON, still escaped.
fn id_span(event: &[u8]) -> Option<Range<usize>> {
    let start =
        event.windows(ID_FIELD.len()).position(|window| window == ID_FIELD)? + ID_FIELD.len();
    let mut end = start;
    while *event.get(end)? != b'"' {
        end += if event[end] == b'\\' { 2 } else { 1 };
    }
    (end > start).then_some(start..end)
}

impl EventSource for Replay {
    fn batches(&self) -> Option<u64> {
        Some(self.blocks.len() as u64 * self.repeat)
    }

    fn events(&self) -> Option<u64> {
        Some(self.events * self.repeat)
    }

    fn batch(&self, number: u64) -> Option<Batch> {
        let count = self.blocks.len() as u64;
        let round = number / count;
        let block = self.blocks.get(usize::try_from(number % count).ok()?)?;
        if round >= self.repeat {
            return None;
        }
        let (body, spans) = match round {
            0 => (block.body.clone(), Arc::clone(&block.spans)),
            _ => renamed(block, &format!("~{round}")),
        };
        Some(Batch { body, events: block.spans.len(), ids: BatchIds::Spans(spans) })
    }
}

/// The block with `suffix` appended to every id.
fn renamed(block: &Block, suffix: &str) -> (Bytes, Arc<[Range<u32>]>) {
    let mut body = Vec::with_capacity(block.body.len() + block.spans.len() * suffix.len());
    let mut spans = Vec::with_capacity(block.spans.len());
    let mut copied = 0;
    for span in block.spans.iter() {
        let (start, end) = (span.start as usize, span.end as usize);
        body.extend_from_slice(&block.body[copied..end]);
        body.extend_from_slice(suffix.as_bytes());
        let id_end = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let length = u32::try_from(end - start + suffix.len()).unwrap_or(0);
        spans.push(id_end - length..id_end);
        copied = end;
    }
    body.extend_from_slice(&block.body[copied..]);
    (Bytes::from(body), spans.into())
}
