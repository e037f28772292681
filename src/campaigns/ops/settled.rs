//! What delivery asks of a campaign, and what becomes of it when delivery is done.

use kernel::{CampaignId, Result, WorkspaceId};

use super::{Step, Who, change, change::commit, lifecycle::failed};
use crate::{
    CampaignState,
    model::{Action, Call, Kind, Status},
    store,
};

/// Completes a campaign when the last time it goes out, this occurrence, is settled. Answers false where
/// somebody else changed it meanwhile, so that it has to be looked at again.
///
/// # Errors
/// When the store fails.
pub async fn settle(
    app: &CampaignState,
    workspace: WorkspaceId,
    (id, occurrence): (CampaignId, i32),
) -> Result<bool> {
    let Some(from) = store::find(app.db(), workspace, id).await? else { return Ok(true) };
    let state = &from.state;
    let comes_again = state.next_send_at.is_some();
    let kind = from.definition.kind();
    if state.status == Status::Active && comes_again && kind == Kind::OneTime {
        // It was resumed, retried or sent again, and is yet to be taken up: this may be the time it goes on
        // with, and were it over by then, nothing would end the campaign.
        return Ok(false);
    }
    let ends = matches!(kind, Kind::OneTime | Kind::Recurring);
    if matches!(state.status, Status::Paused | Status::Failed) {
        // Halted since it was found settled: when it goes on, somebody has to end it.
        return Ok(false);
    }
    if state.status != Status::Active || comes_again || !ends {
        return Ok(true);
    }
    // Asked after the campaign was read: whatever begins another time makes another revision of it.
    if store::is_under_way(app.db(), workspace, (id, occurrence)).await? {
        return Ok(true);
    }
    let now = app.clock().now();
    let step = Step::moved(&from, Call::Complete, Action::Completed, now)?;
    let done = commit(app.db(), &Who::system(workspace), (&from, step), now).await?;
    Ok(done.is_some())
}

/// The revision of a campaign of which messages may leave; none where it was halted or called off.
///
/// # Errors
/// When the store fails.
pub async fn sending(
    connection: &mut sqlx::PgConnection,
    workspace: WorkspaceId,
    id: CampaignId,
) -> Result<Option<i64>> {
    store::sending(connection, workspace, id).await
}

/// Ends a campaign that cannot go on, with the reason that is shown. One that is not active stays as it is.
///
/// # Errors
/// When the store fails.
pub async fn give_up(
    app: &CampaignState,
    workspace: WorkspaceId,
    id: CampaignId,
    reason: &str,
) -> Result<()> {
    let judge = |campaign: &crate::model::Campaign, now| {
        if campaign.state.status != Status::Active {
            return Ok(None);
        }
        failed(campaign, reason, now).map(Some)
    };
    change(app, &Who::system(workspace), id, judge).await.map(drop)
}
