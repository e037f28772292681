//! Whether a campaign can be sent to the segments in its targeting. A segment in use is not deleted, but a campaign may
//! name one that never existed, or return from an end at which its segments were no longer in use.

use kernel::{FieldError, Result, WorkspaceId};
use sqlx::PgExecutor;

use crate::model::Definition;

/// The refusal of a segment that does not exist, or of a targeting that is too large with its segments. Checked
/// whenever a campaign goes live.
///
/// # Errors
/// If the store fails.
pub async fn fault(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    definition: &Definition,
) -> Result<Option<FieldError>> {
    match &definition.targeting {
        Some(targeting) => audience::ops::fault(db, workspace, targeting).await,
        None => Ok(None),
    }
}
