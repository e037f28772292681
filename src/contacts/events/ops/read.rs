//! Queries of events, for a workspace and for one profile.

use analytics::events::{
    self as questions, Aggregate, AggregateAnswer, EventFilter, EventRow, PersonIds,
};
use audience::ops::further_identifiers;
use kernel::{Error, Result, UserId, WorkspaceId};
use web::Services;

use crate::events::store::{self, Person};

/// Events of a workspace, newest first. `user` may be any id of a profile, also of one that was merged into it. Each finds
/// every event of the profile, whichever of its ids it was tracked with.
pub async fn query(
    app: &Services,
    workspace: WorkspaceId,
    user: Option<String>,
    mut filter: EventFilter,
) -> Result<Vec<EventRow>> {
    if let Some(user) = user {
        let ids = ids_of(app, workspace, user).await?;
        (filter.user_ids, filter.anonymous_ids) = (Some(ids.users), ids.anonymous);
    }
    Ok(questions::query(app.analytics(), workspace.uuid(), &filter).await?)
}

/// A page of one profile's events, newest first, and their total number.
///
/// # Errors
/// Not found when the workspace has no active profile with this internal id.
pub async fn of_user(
    app: &Services,
    workspace: WorkspaceId,
    user: UserId,
    mut filter: EventFilter,
) -> Result<(Vec<EventRow>, u64)> {
    let person = store::find_by_id(app.db(), workspace, user).await?;
    let person = person.ok_or(Error::NotFound("User"))?;
    let ids = tracked_ids(app, workspace, person).await?;
    (filter.user_ids, filter.anonymous_ids) = (Some(ids.users), ids.anonymous);
    Ok(questions::of_user(app.analytics(), workspace.uuid(), &filter).await?)
}

/// Counts and sums of one event over time.
pub async fn aggregate(
    app: &Services,
    workspace: WorkspaceId,
    question: &Aggregate,
) -> Result<AggregateAnswer> {
    Ok(questions::aggregate(app.analytics(), workspace.uuid(), question).await?)
}

/// Every id with which events of the profile may have been tracked. Deleted profiles are included, because
/// their events remain. An id that never belonged to a profile is searched as it is, because events of unknown
/// users are recorded.
async fn ids_of(app: &Services, workspace: WorkspaceId, user: String) -> Result<PersonIds> {
    let by_external = store::find_ever_by_external_id(app.db(), workspace, &user).await?;
    let person = match (by_external, user.parse::<UserId>()) {
        (Some(person), _) => Some(person),
        (None, Ok(id)) => store::find_ever_by_id(app.db(), workspace, id).await?,
        (None, Err(_)) => None,
    };
    match person {
        Some(person) => tracked_ids(app, workspace, person).await,
        None => Ok(PersonIds { users: vec![user], anonymous: Vec::new() }),
    }
}

async fn tracked_ids(app: &Services, workspace: WorkspaceId, person: Person) -> Result<PersonIds> {
    let linked = further_identifiers(app.db(), workspace, &[person.id]).await?.remove(&person.id);
    let mut ids = linked.unwrap_or_default();
    ids.users.extend(std::iter::once(person.id.to_string()).chain(person.external_id));
    Ok(ids)
}
