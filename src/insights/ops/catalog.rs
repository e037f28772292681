//! What can be asked about: names and properties of events.

use analytics::insights::{self, EventName, PropertyFound};
use kernel::{Result, WorkspaceId};

use super::InsightState;

/// The names of events, those with the most of the last 30 days first.
///
/// # Errors
/// Unavailable when the store is.
pub async fn event_names(
    app: &InsightState,
    workspace: WorkspaceId,
    limit: u64,
) -> Result<Vec<EventName>> {
    Ok(insights::event_names(app.analytics(), workspace.uuid(), limit).await?)
}

/// The properties of the newest events of a name.
///
/// # Errors
/// Unavailable when the store is.
pub async fn properties(
    app: &InsightState,
    workspace: WorkspaceId,
    event_name: &str,
) -> Result<Vec<PropertyFound>> {
    Ok(insights::properties(app.analytics(), workspace.uuid(), event_name).await?)
}
