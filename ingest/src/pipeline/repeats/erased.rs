//! Finds events of erased people that come again, where other processes write as well. Where this process is the only writer,
//! the lookup of repeats finds them.

use std::collections::HashSet;

use super::{Interrupted, Lookups, event_key, stored};
use crate::record::Batch;

pub(in super::super) struct ErasedFinder {
    pub lookups: Lookups,
}

impl ErasedFinder {
    /// Arrival numbers of events that were erased before: they are not stored again.
    pub(in super::super) fn find(&self, batches: &[Batch]) -> Result<HashSet<u64>, Interrupted> {
        let has_events = batches.iter().any(|batch| batch.events().len() > 0);
        // Most installations have no erased events, and the number of rows is known without reading any.
        if !has_events || !self.lookups.ask(&async |client| stored::any_erased(client).await)? {
            return Ok(HashSet::new());
        }
        let events = batches.iter().flat_map(|batch| {
            let workspace = batch.header().workspace_id;
            batch.events().map(move |event| (event_key(workspace, &event), event.seq))
        });
        let events: Vec<_> = events.collect();
        let keys: Vec<_> = events.iter().map(|(key, _)| *key).collect();
        self.lookups.metrics.looked_up.increment(keys.len() as u64);
        let erased = self.lookups.ask(&async |client| stored::erased(client, &keys).await)?;
        let left_out: HashSet<u64> =
            events.iter().filter(|(key, _)| erased.contains(key)).map(|(_, seq)| *seq).collect();
        self.lookups.metrics.repeats.increment(left_out.len() as u64);
        Ok(left_out)
    }
}
