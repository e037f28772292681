//! Funnels: ClickHouse answers what each person did, and the rules say how far they came.

use analytics::insights::{HISTORIES_MAX, HistoriesAsked, Span};
use kernel::{Result, WorkspaceId};

use super::{
    COMPUTED_IN, InsightState, Turn,
    histories::follow,
    in_time,
    members::{members, wait_for_profiles},
};
use crate::model::funnels::{Funnel, FunnelOf, FunnelQuestion, FunnelSteps, Order};

/// The answer to a question about a funnel.
#[derive(Debug)]
pub struct FunnelAnswer {
    /// The funnel of everybody.
    pub all: FunnelSteps,
    /// Those of the values of a breakdown; none without one.
    pub by_value: Option<Vec<FunnelOf>>,
}

/// Computes a funnel.
///
/// # Errors
/// Bad request when the range or the people are refused, or too many people enter; unavailable when a store is.
pub async fn funnel(
    app: &InsightState,
    workspace: WorkspaceId,
    question: &FunnelQuestion,
) -> Result<FunnelAnswer> {
    let turn = app.turn(workspace).await?;
    in_time(COMPUTED_IN, computed(app, &turn, workspace, question)).await
}

async fn computed(
    app: &InsightState,
    turn: &Turn,
    workspace: WorkspaceId,
    question: &FunnelQuestion,
) -> Result<FunnelAnswer> {
    let now = app.clock().now();
    let entries = question.period.span(now)?;
    let members = members(app, workspace, question.people.as_ref()).await?;
    // After the people are found: all of them are copied then.
    if question.needs_profiles() {
        wait_for_profiles(app, workspace).await?;
    }
    let asked = HistoriesAsked {
        choices: question.steps.iter().map(|step| step.at(now)).collect(),
        first_span: entries,
        span: Span {
            start_ms: entries.start_ms,
            end_ms: entries.end_ms.saturating_add(question.window_ms),
        },
        has_all_events: question.order == Order::Strict,
        breakdown: question.breakdown.as_ref().map(|it| it.by.clone()),
        members,
        max: HISTORIES_MAX,
    };
    let funnel = follow(turn, workspace, &asked, Funnel::new(question)).await?;
    let by_value = question.breakdown.as_ref().map(|by| funnel.by_value(by.limit));
    Ok(FunnelAnswer { all: funnel.all(), by_value })
}
