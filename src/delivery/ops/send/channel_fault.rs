//! Ends campaigns whose messages fail because of the channel's settings, not because of their recipients.

use std::sync::LazyLock;

use kernel::{CampaignId, Result, WorkspaceId};

use crate::{
    DeliveryState,
    model::claimed::MessageStatus,
    render::RenderFault,
    store::{claims, runs},
};

/// The outcomes of an occurrence that are evaluated; with fewer the campaign goes on.
const OUTCOMES_MIN: i64 = 200;
/// Codes that are due to the channel's settings, not to the recipient: those of the providers, no provider, templates
/// that cannot be rendered, a sender that is not the workspace's.
static CODES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let own = ["no_provider", RenderFault::CODE, super::sender_domain::NOT_VERIFIED];
    providers::registry::channel_fault_codes().chain(own).collect()
});

/// Whether a status is a fault of the channel.
pub(crate) fn is_shown_by(status: &MessageStatus) -> bool {
    matches!(status, MessageStatus::Failed { code, .. } if CODES.contains(&code.as_str()))
}

/// Ends a campaign if more than half of the messages of the current occurrence failed because of the channel.
///
/// # Errors
/// When a store is unavailable.
pub(crate) async fn end(app: &DeliveryState, workspace: WorkspaceId, id: CampaignId) -> Result<()> {
    let mut connection = app.db().acquire().await?;
    if runs::is_retried(&mut *connection, workspace, id).await? {
        // A retry follows such failures; they are no reason to end it.
        return Ok(());
    }
    let found =
        claims::commonest_fault(&mut connection, workspace, id, CODES.as_slice(), OUTCOMES_MIN)
            .await?;
    let Some(found) = found else { return Ok(()) };
    drop(connection);
    if found.ended < OUTCOMES_MIN || found.failed * 2 <= found.ended {
        return Ok(());
    }
    let claims::Fault { code, reason, failed, ended } = found;
    let text = format!("{failed} of {ended} messages failed with {code}: {reason}");
    campaigns::ops::give_up(app, workspace, id, &text).await
}
