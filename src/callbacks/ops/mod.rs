//! Finds the messages that are spoken of, and hands on what is said of them.

use std::collections::HashMap;

use delivery::ops::feedback;
use kernel::Result;
use providers::model::{Feedback, Name, Reference, Report};

use crate::CallbackState;

/// What became of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Of messages of ours, told and acted on.
    pub known: usize,
    /// Of messages that nobody here sent, left alone.
    pub unknown: usize,
}

/// Acts on reports about messages of a channel. `source` is who told, for the metrics.
///
/// # Errors
/// When the stores fail: then all of them may be told again.
pub async fn take(
    app: &CallbackState,
    source: &'static str,
    channel: &str,
    reports: Vec<Report>,
) -> Result<Taken> {
    let told = reports.len();
    let named = of_provider(app, channel, &reports).await?;
    let mut heard: Vec<(Reference, Feedback)> = Vec::with_capacity(told);
    for Report { names, feedback } in reports {
        if let Some(reference) = find(&named, &names) {
            heard.push((reference, feedback));
        }
    }
    let known = feedback::apply_all(app, &heard).await?;
    let taken = Taken { known, unknown: told - known };
    count(source, "applied", taken.known);
    count(source, "unknown", taken.unknown);
    Ok(taken)
}

/// The messages that the channel's provider named by ids of its own, where it said nothing better.
async fn of_provider(
    app: &CallbackState,
    channel: &str,
    reports: &[Report],
) -> Result<HashMap<String, Reference>> {
    let ids = reports.iter().filter_map(|report| match report.names.first() {
        Some(Name::Provider(id)) => Some(id.as_str()),
        _ => None,
    });
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    feedback::named_by_provider(app, channel, &ids).await
}

fn find(named: &HashMap<String, Reference>, names: &[Name]) -> Option<Reference> {
    names.iter().find_map(|name| match name {
        Name::Reference(reference) => Some(*reference),
        Name::Provider(id) => named.get(id).copied(),
    })
}

/// Counts the reports of a source by their outcome.
pub fn count(source: &'static str, outcome: &'static str, number: usize) {
    metrics_catalogue::CALLBACKS_REPORTS.with([source, outcome]).increment(number as u64);
}
