//! Funnels: ClickHouse answers what each person did, and the rules say how far they came.

use analytics::insights::{self, HistoriesAsked, NextHistory, Span};
use kernel::{Error, Result, WorkspaceId};

use super::{InsightState, members::members};
use crate::model::{
    PEOPLE_MAX,
    funnels::{Funnel, FunnelOf, FunnelQuestion, FunnelSteps, Order},
};

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
    let _place = app.place().await?;
    let now = app.clock().now();
    let entries = question.period.span(now)?;
    let members = members(app, workspace, question.people.as_ref()).await?;
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
        people_max: PEOPLE_MAX + 1,
    };
    let mut funnel = Funnel::new(question);
    let mut histories = insights::histories(app.analytics(), workspace.uuid(), &asked).await?;
    let mut people = 0;
    loop {
        match histories.next().await? {
            NextHistory::Person(history) => funnel.add(&history),
            NextHistory::Again => {
                funnel.clear();
                people = 0;
                continue;
            }
            NextHistory::End => break,
        }
        people += 1;
        refuse_many(people)?;
    }
    let by_value = question.breakdown.as_ref().map(|by| funnel.by_value(by.limit));
    Ok(FunnelAnswer { all: funnel.all(), by_value })
}

/// Refuses a question about more people than are followed.
pub(super) fn refuse_many(people: u64) -> Result<()> {
    if people <= PEOPLE_MAX {
        return Ok(());
    }
    Err(Error::bad_request(format!(
        "more than {PEOPLE_MAX} people begin in this range: ask for a shorter range, fewer people or rarer events"
    )))
}
