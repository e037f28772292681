//! Campaigns that fail for what is wrong with their channel: no recipient is to blame, and the others would
//! fare no better.

use std::sync::LazyLock;

use kernel::{CampaignId, Result, WorkspaceId};

use crate::{
    DeliveryState,
    model::claimed::MessageStatus,
    render::RenderFault,
    store::{claims, runs},
};

/// Outcomes of an occurrence before it is judged by them, and how many are looked at.
const JUDGED_FROM: i64 = 200;
/// Codes that are due to the channel's settings, not to the recipient: those of the providers, no provider, templates
/// that cannot be rendered, a sender that is not the workspace's.
static CODES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let own = ["no_provider", RenderFault::CODE, super::sender_domain::NOT_VERIFIED];
    providers::registry::channel_fault_codes().chain(own).collect()
});

/// Whether what became of a message says that something is wrong with its channel.
pub(crate) fn is_shown_by(status: &MessageStatus) -> bool {
    matches!(status, MessageStatus::Failed { code, .. } if CODES.contains(&code.as_str()))
}

/// Ends a campaign of whose messages more than half failed for its channel, of the occurrence that goes out.
///
/// # Errors
/// When a store is away.
pub(crate) async fn end(app: &DeliveryState, workspace: WorkspaceId, id: CampaignId) -> Result<()> {
    let mut connection = app.db().acquire().await?;
    if runs::is_retried(&mut *connection, workspace, id).await? {
        // That it failed before is why it is tried again.
        return Ok(());
    }
    let found =
        claims::commonest_fault(&mut connection, workspace, id, CODES.as_slice(), JUDGED_FROM)
            .await?;
    let Some(found) = found else { return Ok(()) };
    drop(connection);
    if found.ended < JUDGED_FROM || found.failed * 2 <= found.ended {
        return Ok(());
    }
    let claims::Fault { code, reason, failed, ended } = found;
    let words = format!("{failed} of {ended} messages failed with {code}: {reason}");
    campaigns::ops::give_up(app, workspace, id, &words).await
}
