//! Batches made before they are needed, for runs in which making them must cost nothing.

use super::{Batch, EventSource};

/// Some batches of another source, kept in memory.
#[derive(Debug)]
pub struct Held {
    batches: Vec<Batch>,
}

impl Held {
    /// Makes the batches with these numbers, as far as the source has them.
    pub fn take(source: &dyn EventSource, numbers: std::ops::Range<u64>) -> Self {
        Self { batches: numbers.map_while(|number| source.batch(number)).collect() }
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
