//! Saved insights: create, read, change, delete.

use kernel::{Error, InsightId, Result, WorkspaceId, page::PageWindow};

use super::InsightState;
use crate::{
    model::saved::{Insight, InsightPatch, NewInsight, Question, SAVED_MAX},
    store,
};

const NOT_FOUND: Error = Error::NotFound("Insight");

/// Saves a question under a name.
///
/// # Errors
/// Bad request when the workspace has as many as it may have.
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
    if !store::insert(app.db(), workspace, actor, &insight).await? {
        return Err(Error::bad_request(format!("A workspace has at most {SAVED_MAX} insights")));
    }
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
/// Not found; bad request when a new question does not fit the kind.
pub async fn update(
    app: &InsightState,
    workspace: WorkspaceId,
    actor: &str,
    id: InsightId,
    patch: InsightPatch,
) -> Result<Insight> {
    let mut insight = get(app, workspace, id).await?;
    let InsightPatch { name, kind, question } = patch;
    if name.is_none() && kind.is_none() && question.is_none() {
        return Ok(insight);
    }
    insight.name = name.unwrap_or(insight.name);
    insight.kind = kind.unwrap_or(insight.kind);
    if let Some(question) = question {
        Question::stored(insight.kind, &question)?;
        insight.question = question;
    }
    insight.updated_at = app.clock().now();
    if store::update(app.db(), workspace, actor, &insight).await? {
        Ok(insight)
    } else {
        Err(NOT_FOUND)
    }
}

/// Deletes an insight.
///
/// # Errors
/// Not found.
pub async fn delete(app: &InsightState, workspace: WorkspaceId, id: InsightId) -> Result<()> {
    if store::delete(app.db(), workspace, id).await? { Ok(()) } else { Err(NOT_FOUND) }
}
