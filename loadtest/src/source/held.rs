//! Batches made before they are needed, for runs in which making them must cost nothing.

use anyhow::Result;
use bytes::Bytes;

use super::{Batch, EventSource};

/// Some batches of another source, kept in memory.
#[derive(Clone, Debug)]
pub struct Held {
    batches: Vec<Batch>,
}

impl Held {
    /// Makes the batches with these numbers, as far as the source has them.
    pub fn take(source: &dyn EventSource, numbers: std::ops::Range<u64>) -> Self {
        Self { batches: numbers.map_while(|number| source.batch(number)).collect() }
    }

    /// The same batches with other bodies.
    ///
    /// # Errors
    /// The first of `body`.
    pub fn try_map(&self, body: impl Fn(&Bytes) -> Result<Bytes>) -> Result<Self> {
        let mapped = |batch: &Batch| Ok(Batch { body: body(&batch.body)?, ..batch.clone() });
        Ok(Self { batches: self.batches.iter().map(mapped).collect::<Result<_>>()? })
    }

    /// The batches, in order.
    pub fn as_slice(&self) -> &[Batch] {
        &self.batches
    }
}

impl EventSource for Held {
    fn batches(&self) -> Option<u64> {
        Some(self.batches.len() as u64)
    }

    fn events(&self) -> Option<u64> {
        Some(self.batches.iter().map(|batch| batch.events as u64).sum())
    }

    fn batch(&self, number: u64) -> Option<Batch> {
        self.batches.get(usize::try_from(number).ok()?).cloned()
    }
}
