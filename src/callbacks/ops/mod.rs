//! Matches reports to messages, and applies them.

use std::collections::HashMap;

use delivery::ops::feedback::{self, MessageFeedback};
use kernel::Result;
use providers::model::{Name, Reference, Report};

use crate::CallbackState;

/// Applies reports on messages of a channel; those on unknown messages are ignored. `source` is the label of the
/// metric.
///
/// # Errors
/// If a store fails: then all reports may be sent again.
pub async fn apply(
    app: &CallbackState,
    source: &'static str,
    channel: &str,
    reports: Vec<Report>,
) -> Result<()> {
    let received = reports.len();
    let by_provider_id = find_by_provider_id(app, channel, &reports).await?;
    let mut matched: Vec<MessageFeedback> = Vec::with_capacity(received);
    for Report { names, feedback } in reports {
        if let Some(reference) = find(&by_provider_id, &names) {
            matched.push(MessageFeedback { reference, feedback });
        }
    }
    let known = feedback::apply_all(app, &matched).await?;
    count(source, "applied", known);
    count(source, "unknown", received - known);
    Ok(())
}

/// The messages that reports name by the provider's id, if they have no better name.
async fn find_by_provider_id(
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

fn find(by_provider_id: &HashMap<String, Reference>, names: &[Name]) -> Option<Reference> {
    names.iter().find_map(|name| match name {
        Name::Reference(reference) => Some(*reference),
        Name::Provider(id) => by_provider_id.get(id).copied(),
    })
}

/// Counts the reports of a source by their outcome.
pub fn count(source: &'static str, outcome: &'static str, number: usize) {
    metrics_catalogue::CALLBACKS_REPORTS.with([source, outcome]).increment(number as u64);
}
