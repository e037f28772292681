//! Campaigns that fail for what is wrong with their channel: no recipient is to blame, and the others would
//! fare no better.

use kernel::{CampaignId, Result, WorkspaceId};

use crate::{
    DeliveryState,
    model::claimed::MessageStatus,
    store::{claims, runs},
};

/// Outcomes of an occurrence before it is judged by them, and how many are looked at.
const JUDGED_FROM: i64 = 200;
/// Codes that say something of the channel's settings, and nothing of the recipient: credentials that are
/// refused, no provider, templates that cannot be rendered, a sender that is not the workspace's.
const CODES: [&str; 17] = [
    "401",
    "403",
    "407",
    "530",
    "535",
    "5.7.8",
    "5.7.0",
    "no_provider",
    "render",
    super::sender_domain::NOT_VERIFIED,
    "auth",
    "20003",
    "190",
    "THIRD_PARTY_AUTH_ERROR",
    "SENDER_ID_MISMATCH",
    "InvalidProviderToken",
    "ExpiredProviderToken",
];

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
    let asked = (id, CODES.as_slice(), JUDGED_FROM);
    let Some(found) = claims::commonest_fault(&mut connection, workspace, asked).await? else {
        return Ok(());
    };
    drop(connection);
    if found.ended < JUDGED_FROM || found.failed * 2 <= found.ended {
        return Ok(());
    }
    let claims::Fault { code, reason, failed, ended } = found;
    let words = format!("{failed} of {ended} messages failed with {code}: {reason}");
    campaigns::ops::give_up(app, workspace, id, &words).await
}
