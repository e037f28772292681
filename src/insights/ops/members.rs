//! The people that a question is limited to.

use analytics::insights::{self, MEMBERS_PER_INSERT, Members};
use audience::{
    model::AudienceQuery,
    ops::{Audience, fault},
};
use contacts::ContactState;
use kernel::{Error, FieldError, Result, WorkspaceId};
use sqlx::PgExecutor;
use uuid::Uuid;

use super::{InsightState, RETRY_AFTER};
use crate::model::{PEOPLE_MAX, people::People};

/// Why people cannot be found: their targeting uses a segment that does not exist, or is too large with its segments.
///
/// # Errors
/// If the store fails.
pub(super) async fn people_fault(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    people: &People,
) -> Result<Option<FieldError>> {
    let fault = fault(db, workspace, &people.targeting).await?;
    Ok(fault.map(|mut fault| {
        fault.path = if people.is_segment {
            "people.segmentId".to_owned()
        } else {
            fault.path.replacen("targeting", "people", 1)
        };
        fault
    }))
}

/// Waits until ClickHouse has the profiles that were written before the call: a question about them would miss some.
///
/// # Errors
/// Unavailable when they are not copied in time, or a store is.
pub(super) async fn wait_for_profiles(app: &InsightState, workspace: WorkspaceId) -> Result<()> {
    if app.has_copies(workspace).await? {
        return Ok(());
    }
    Err(Error::Unavailable {
        what: "profiles that changed just now are not in insights yet",
        retry_after: Some(RETRY_AFTER),
    })
}

/// Finds the people in PostgreSQL and stores them for ClickHouse; the id under which they are. None where the question is
/// of everybody.
///
/// # Errors
/// Bad request when the targeting cannot be evaluated or matches more than [`PEOPLE_MAX`]; unavailable when a store is.
pub(super) async fn members(
    app: &ContactState,
    workspace: WorkspaceId,
    people: Option<&People>,
) -> Result<Option<Uuid>> {
    let Some(people) = people else { return Ok(None) };
    if let Some(fault) = people_fault(app.db(), workspace, people).await? {
        return Err(Error::Invalid(vec![fault]));
    }
    let targeting = &people.targeting;
    let question = Uuid::new_v4();
    let query = AudienceQuery { targeting: Some(targeting), ..AudienceQuery::default() };
    let mut audience = Audience::open_segment(app, workspace, &query).await?;
    let size = u32::try_from(MEMBERS_PER_INSERT).unwrap_or(u32::MAX);
    let (mut after, mut found) = (None, 0_u64);
    loop {
        let page = audience.page(after, size).await?;
        let users: Vec<String> = page.iter().map(|reached| reached.user.to_string()).collect();
        found += users.len() as u64;
        if found > PEOPLE_MAX {
            let problem = format!("must match at most {PEOPLE_MAX} people");
            return Err(Error::invalid("people", problem));
        }
        let is_last = users.len() < MEMBERS_PER_INSERT;
        after = page.last().map(|reached| reached.user);
        if !users.is_empty() {
            insights::store(app.analytics(), &Members { question, users }).await?;
        }
        if is_last {
            break;
        }
    }
    audience.close().await?;
    Ok(Some(question))
}
