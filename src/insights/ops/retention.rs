//! Retention: ClickHouse answers when people began and returned, and the rules count them.

use analytics::insights::{self, HistoriesAsked, NextHistory};
use kernel::{Result, WorkspaceId};

use super::{InsightState, funnels::refuse_many, members::members};
use crate::model::{
    PEOPLE_MAX,
    retention::{Cohort, Retention, RetentionQuestion},
};

/// Computes the cohorts of a range.
///
/// # Errors
/// Bad request when the range or the people are refused, or too many people begin; unavailable when a store is.
pub async fn retention(
    app: &InsightState,
    workspace: WorkspaceId,
    question: &RetentionQuestion,
) -> Result<Vec<Cohort>> {
    let _place = app.place().await?;
    let now = app.clock().now();
    let mut retention = Retention::new(question, now)?;
    let members = members(app, workspace, question.people.as_ref()).await?;
    let asked = HistoriesAsked {
        choices: vec![question.start.at(now), question.returning.at(now)],
        first_span: retention.start_span,
        span: retention.return_span,
        has_all_events: false,
        breakdown: None,
        members,
        people_max: PEOPLE_MAX + 1,
    };
    let mut histories = insights::histories(app.analytics(), workspace.uuid(), &asked).await?;
    let mut people = 0;
    loop {
        match histories.next().await? {
            NextHistory::Person(history) => retention.add(&history),
            NextHistory::Again => {
                retention.clear();
                people = 0;
                continue;
            }
            NextHistory::End => break,
        }
        people += 1;
        refuse_many(people)?;
    }
    Ok(retention.cohorts())
}
