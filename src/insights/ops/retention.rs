//! Retention: ClickHouse answers when people began and returned, and the rules count them.

use analytics::insights::{HISTORIES_MAX, HistoriesAsked};
use kernel::{Result, WorkspaceId};

use super::{
    COMPUTED_IN, InsightState, Turn,
    histories::follow,
    in_time,
    members::{members, wait_for_profiles},
};
use crate::model::retention::{Cohort, Retention, RetentionQuestion};

/// Computes the cohorts of a range.
///
/// # Errors
/// Bad request when the range or the people are refused, or too many people begin; unavailable when a store is.
pub async fn retention(
    app: &InsightState,
    workspace: WorkspaceId,
    question: &RetentionQuestion,
) -> Result<Vec<Cohort>> {
    let turn = app.turn(workspace).await?;
    in_time(COMPUTED_IN, computed(app, &turn, workspace, question)).await
}

async fn computed(
    app: &InsightState,
    turn: &Turn,
    workspace: WorkspaceId,
    question: &RetentionQuestion,
) -> Result<Vec<Cohort>> {
    let now = app.clock().now();
    let retention = Retention::new(question, now)?;
    let members = members(app, workspace, question.people.as_ref()).await?;
    // After the people are found: all of them are copied then.
    if question.needs_profiles() {
        wait_for_profiles(app, workspace).await?;
    }
    let asked = HistoriesAsked {
        choices: vec![question.start.at(now), question.returning.at(now)],
        first_span: retention.start_span,
        span: retention.return_span,
        has_all_events: false,
        breakdown: None,
        members,
        max: HISTORIES_MAX,
    };
    let retention = follow(turn, workspace, &asked, retention).await?;
    Ok(retention.cohorts())
}
