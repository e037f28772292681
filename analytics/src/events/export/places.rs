//! How many exports run at one time.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::error::AnalyticsError;

/// Exports of one workspace at one time, in one process.
const OF_WORKSPACE_MAX: usize = 2;
/// Exports of all workspaces at one time, in one process.
const OF_ALL_MAX: usize = 6;

/// Counts the exports under way; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExportPlaces(Arc<Mutex<HashMap<Uuid, usize>>>);

/// Held by an export as long as it runs.
#[derive(Debug)]
#[must_use]
pub struct ExportPlace {
    places: ExportPlaces,
    workspace: Uuid,
}

impl ExportPlaces {
    pub(super) fn take(&self, workspace: Uuid) -> Result<ExportPlace, AnalyticsError> {
        let mut running = self.0.lock();
        if running.get(&workspace).is_some_and(|count| *count >= OF_WORKSPACE_MAX) {
            return Err(AnalyticsError::TooManyExports(
                "The workspace has 2 exports running on this server, which is the most",
            ));
        }
        if running.values().sum::<usize>() >= OF_ALL_MAX {
            return Err(AnalyticsError::TooManyExports(
                "This server has 6 exports running, which is the most; try another or later",
            ));
        }
        *running.entry(workspace).or_default() += 1;
        Ok(ExportPlace { places: self.clone(), workspace })
    }
}

impl Drop for ExportPlace {
    fn drop(&mut self) {
        let mut running = self.places.0.lock();
        if let Some(count) = running.get_mut(&self.workspace) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.workspace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_has_so_many_places_and_all_together_have() {
        let places = ExportPlaces::default();
        let text = |refused: Result<ExportPlace, AnalyticsError>| refused.unwrap_err().to_string();
        let [one, two, three] = [1, 2, 3].map(Uuid::from_u128);
        let mut held: Vec<ExportPlace> =
            [one, one, two, two, three].map(|workspace| places.take(workspace).unwrap()).into();
        let refused = text(places.take(one));
        assert!(refused.contains(&format!("{OF_WORKSPACE_MAX} exports")), "{refused}");
        held.push(places.take(three).unwrap());
        let refused = text(places.take(Uuid::from_u128(4)));
        assert!(refused.contains(&format!("{OF_ALL_MAX} exports")), "{refused}");
        drop(held.remove(0));
        held.push(places.take(one).unwrap());
        drop(held);
        assert!(places.0.lock().is_empty());
    }
}
