//! Trends: a question to ClickHouse for each series.

use analytics::insights;
use kernel::{Result, WorkspaceId};

use super::{
    COMPUTED_IN, InsightState, Turn, in_time,
    members::{members, wait_for_profiles},
};
use crate::model::trends::{Curve, TrendsQuestion, curves};

/// The curves of one series.
#[derive(Debug)]
pub struct SeriesCurves {
    /// By the place of the series in the question.
    pub series: usize,
    /// One, or one for each value of the breakdown, each twice where the time before is asked for.
    pub curves: Vec<Curve>,
}

/// The answer to a question about trends.
#[derive(Debug)]
pub struct TrendsAnswer {
    /// Starts of the intervals, in milliseconds since 1970.
    pub starts_ms: Vec<i64>,
    /// The series in the order of the question.
    pub series: Vec<SeriesCurves>,
}

/// Computes trends.
///
/// # Errors
/// Bad request when the range or the people are refused; unavailable when a store is.
pub async fn trends(
    app: &InsightState,
    workspace: WorkspaceId,
    question: &TrendsQuestion,
) -> Result<TrendsAnswer> {
    let turn = app.turn(workspace).await?;
    in_time(COMPUTED_IN, computed(app, &turn, workspace, question)).await
}

async fn computed(
    app: &InsightState,
    turn: &Turn,
    workspace: WorkspaceId,
    question: &TrendsQuestion,
) -> Result<TrendsAnswer> {
    let plan = question.plan(app.clock().now())?;
    let members = members(app, workspace, question.people.as_ref()).await?;
    // After the people are found: all of them are copied then.
    if question.needs_profiles() {
        wait_for_profiles(app, workspace).await?;
    }
    let mut series = Vec::with_capacity(question.series.len());
    for (place, asked) in question.series.iter().enumerate() {
        let rows = insights::trend(
            &turn.analytics,
            workspace.uuid(),
            &question.asked(asked, &plan, members),
        )
        .await?;
        let has_breakdown = question.breakdown.is_some();
        let curves = curves(asked.metric, &plan, has_breakdown, rows);
        series.push(SeriesCurves { series: place, curves });
    }
    Ok(TrendsAnswer { starts_ms: plan.starts_ms, series })
}
