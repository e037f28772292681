//! The status of a campaign as delivery reads and ends it.

use kernel::{CampaignId, Result, WorkspaceId};

use super::{Step, Who, change, change::commit, lifecycle::failed};
use crate::{
    CampaignState,
    model::{Action, Call, CampaignKind, Status},
    store,
};

/// Completes a campaign when its last occurrence, this one, has no messages under way. Returns false if the
/// campaign changed concurrently and has to be checked again.
///
/// # Errors
/// If the store fails.
pub async fn settle(
    app: &CampaignState,
    workspace: WorkspaceId,
    id: CampaignId,
    occurrence: i32,
) -> Result<bool> {
    let Some(from) = store::find(app.db(), workspace, id).await? else { return Ok(true) };
    let state = &from.state;
    let comes_again = state.next_send_at.is_some();
    let kind = from.definition.kind();
    if state.status == Status::Active && comes_again && kind == CampaignKind::OneTime {
        // It was resumed, retried or sent again and not started yet. It may continue with this occurrence; if
        // that were marked as completed here, nothing would complete the campaign later.
        return Ok(false);
    }
    let ends = matches!(kind, CampaignKind::OneTime | CampaignKind::Recurring);
    if matches!(state.status, Status::Paused | Status::Failed) {
        // Halted after its messages were done: it must still be completed once it is resumed.
        return Ok(false);
    }
    if state.status != Status::Active || comes_again || !ends {
        return Ok(true);
    }
    // Read after the campaign: starting another occurrence makes a new revision, so the commit below is refused.
    if store::is_under_way(app.db(), workspace, id, occurrence).await? {
        return Ok(true);
    }
    let now = app.clock().now();
    let step = Step::transition(&from, Call::Complete, Action::Completed, now)?;
    let done = commit(app.db(), &Who::system(workspace), &from, step, now).await?;
    Ok(done.is_some())
}

/// The revision of a campaign whose messages may be sent; none if it is halted or cancelled.
///
/// # Errors
/// If the store fails.
pub async fn sending(
    connection: &mut sqlx::PgConnection,
    workspace: WorkspaceId,
    id: CampaignId,
) -> Result<Option<i64>> {
    store::sending(connection, workspace, id).await
}

/// Fails a campaign that cannot continue, with the reason shown to users. Does nothing unless it is active.
///
/// # Errors
/// If the store fails.
pub async fn give_up(
    app: &CampaignState,
    workspace: WorkspaceId,
    id: CampaignId,
    reason: &str,
) -> Result<()> {
    let fail = |campaign: &crate::model::Campaign, now| {
        if campaign.state.status != Status::Active {
            return Ok(None);
        }
        failed(campaign, reason, now).map(Some)
    };
    change(app, &Who::system(workspace), id, fail).await.map(drop)
}
