//! What is sent: numbered batches with their event ids, the same batch for the same number every time.

mod campaigns;
mod dice;
mod generated;
mod held;
mod profiles;
mod replayed;
mod shapes;
#[cfg(test)]
mod tests;

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;

pub use campaigns::{Campaigns, NewCampaign};
pub use generated::{Generator, GeneratorOptions};
pub use held::Held;
pub use profiles::{ProfileBatch, Profiles};
pub use replayed::Replay;

pub(crate) use dice::mix;

/// The specification's limit on the elements of one `POST /events/track`.
pub const EVENTS_PER_REQUEST_MAX: usize = 500;

/// One request body and the event ids in it, in body order.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The JSON, ready to send.
    pub body: Bytes,
    /// Number of events in the body.
    pub events: usize,
    pub ids: BatchIds,
}

/// The `clientEventId`s of a batch, kept as cheaply as the source allows.
#[derive(Clone)]
pub enum BatchIds {
    /// `{prefix}{number:012}` for consecutive numbers.
    Range {
        /// What stands before the number.
        prefix: Arc<str>,
        numbers: Range<u64>,
    },
    /// Where the ids' JSON texts (without quotes, still escaped) stand in the body.
    Spans(Arc<[Range<u32>]>),
}

impl fmt::Debug for BatchIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range { prefix, numbers } => write!(f, "{prefix}{numbers:?}"),
            Self::Spans(spans) => write!(f, "{} spans", spans.len()),
        }
    }
}

/// The text of a generated event id.
pub fn generated_id(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:012}")
}

impl Batch {
    /// The id at a zero-based position, decoded; `None` past the end.
    pub fn id(&self, index: usize) -> Option<String> {
        match &self.ids {
            BatchIds::Range { prefix, numbers } => {
                let number = numbers.clone().nth(index)?;
                Some(generated_id(prefix, number))
            }
            BatchIds::Spans(spans) => {
                let span = spans.get(index)?;
                let raw = self.body.get(span.start as usize..span.end as usize)?;
                Some(decode_json_text(raw))
            }
        }
    }
}

/// Decodes the inside of a JSON string; text without an escape is taken as it is.
pub(crate) fn decode_json_text(raw: &[u8]) -> String {
    if raw.contains(&b'\\') {
        let quoted = [b"\"".as_slice(), raw, b"\""].concat();
        if let Ok(text) = serde_json::from_slice(&quoted) {
            return text;
        }
    }
    String::from_utf8_lossy(raw).into_owned()
}

/// Numbered batches. The same number gives the same bytes, on any thread, in any order.
pub trait EventSource: Send + Sync {
    /// Number of batches, `None` when there is no end.
    fn batches(&self) -> Option<u64>;
    /// Number of events in all batches, `None` when there is no end.
    fn events(&self) -> Option<u64>;
    /// The batch with this zero-based number; `None` past the end.
    fn batch(&self, number: u64) -> Option<Batch>;
}
