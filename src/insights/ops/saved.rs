//! Saved insights: create, read, change, delete.

use audience::ops::hold_segments;
use kernel::{Error, InsightId, Result, Timestamp, WorkspaceId, page::PageWindow};
use sqlx::PgConnection;

use super::{InsightState, members::people_fault};
use crate::{
    model::saved::{Insight, InsightPatch, NewInsight, Question, SAVED_MAX},
    store,
};

const NOT_FOUND: Error = Error::NotFound("Insight");

/// Refuses a question that cannot be answered, such as one about a segment that does not exist. One that does is not deleted
/// before the transaction ends, and then the insight keeps it.
async fn check(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    question: &Question,
    now: Timestamp,
) -> Result<()> {
    question.refuse_unanswerable(now)?;
    let Some(people) = question.people() else { return Ok(()) };
    hold_segments(tx, workspace, &[&people.targeting]).await?;
    match people_fault(tx, workspace, people).await? {
        None => Ok(()),
        Some(mut fault) => {
            fault.path = format!("question.{}", fault.path);
            Err(Error::Invalid(vec![fault]))
        }
    }
}

/// Saves a question under a name.
///
/// # Errors
/// Bad request when the question cannot be answered, as one about a segment that does not exist, or the workspace has as many as it may have.
pub async fn create(
    app: &InsightState,
    workspace: WorkspaceId,
    actor: &str,
    new: NewInsight,
) -> Result<Insight> {
    let now = app.clock().now();
    let NewInsight { name, kind, question } = new;
    let id = InsightId::mint(now);
    let insight = Insight { id, name, kind, question, created_at: now, updated_at: now };
    let mut tx = app.db().begin().await?;
    check(&mut tx, workspace, &Question::stored(kind, &insight.question)?, now).await?;
    if !store::insert(&mut *tx, workspace, actor, &insight).await? {
        return Err(Error::bad_request(format!("A workspace has at most {SAVED_MAX} insights")));
    }
    tx.commit().await?;
    Ok(insight)
}

/// A page of insights, newest first, and their total number.
pub async fn list(
    app: &InsightState,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<(Vec<Insight>, u64)> {
    let page = store::page(app.db(), workspace, window).await?;
    Ok((page, store::count(app.db(), workspace).await?))
}

/// A saved insight.
///
/// # Errors
/// Not found.
pub async fn get(app: &InsightState, workspace: WorkspaceId, id: InsightId) -> Result<Insight> {
    store::find(app.db(), workspace, id).await?.ok_or(NOT_FOUND)
}

/// Changes an insight.
///
/// # Errors
/// Not found; bad request when a new question does not fit the kind, or cannot be answered.
pub async fn update(
    app: &InsightState,
    workspace: WorkspaceId,
    actor: &str,
    id: InsightId,
    patch: InsightPatch,
) -> Result<Insight> {
    let InsightPatch { name, kind, question } = patch;
    if name.is_none() && kind.is_none() && question.is_none() {
        return get(app, workspace, id).await;
    }
    let mut tx = app.db().begin().await?;
    let mut insight = store::find_to_change(&mut tx, workspace, id).await?.ok_or(NOT_FOUND)?;
    insight.name = name.unwrap_or(insight.name);
    insight.kind = kind.unwrap_or(insight.kind);
    insight.updated_at = app.clock().now();
    if let Some(question) = question {
        let question_read = Question::stored(insight.kind, &question)?;
        check(&mut tx, workspace, &question_read, insight.updated_at).await?;
        insight.question = question;
    }
    if !store::update(&mut *tx, workspace, actor, &insight).await? {
        return Err(NOT_FOUND);
    }
    tx.commit().await?;
    Ok(insight)
}

/// Deletes an insight.
///
/// # Errors
/// Not found.
pub async fn delete(app: &InsightState, workspace: WorkspaceId, id: InsightId) -> Result<()> {
    if store::delete(app.db(), workspace, id).await? { Ok(()) } else { Err(NOT_FOUND) }
}
