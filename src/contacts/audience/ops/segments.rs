//! The segments that profiles are in.

use std::{collections::HashMap, time::Duration};

use kernel::{Result, UserId, WorkspaceId};
use web::Services;

use super::matching;
use crate::{
    model::{NamedTargeting, Person, SegmentName, Targeting},
    store::saved,
};

/// How long an answer waits for the segments of its profiles.
const PROFILES_WAIT_MAX: Duration = Duration::from_secs(10);

/// The segments that each of these profiles is in, by name. Profiles without any are left out. None where that takes
/// too long or fails: a profile is answered all the same, also after it was written.
pub async fn segments_of(
    app: &Services,
    workspace: WorkspaceId,
    profiles: &[Person],
) -> Option<HashMap<UserId, Vec<SegmentName>>> {
    match tokio::time::timeout(PROFILES_WAIT_MAX, evaluated(app, workspace, profiles)).await {
        Ok(Ok(found)) => Some(found),
        Ok(Err(error)) => {
            tracing::warn!(%workspace, %error, "segments of profiles cannot be evaluated");
            None
        }
        Err(_) => {
            tracing::warn!(%workspace, "segments of profiles take too long to evaluate");
            None
        }
    }
}

async fn evaluated(
    app: &Services,
    workspace: WorkspaceId,
    profiles: &[Person],
) -> Result<HashMap<UserId, Vec<SegmentName>>> {
    let mut of_user: HashMap<UserId, Vec<SegmentName>> = HashMap::new();
    if profiles.is_empty() {
        return Ok(of_user);
    }
    let segments = saved::all(app.db(), workspace).await?;
    if segments.is_empty() {
        return Ok(of_user);
    }
    let targetings: Vec<Option<&Targeting>> =
        segments.iter().map(|segment| Some(&segment.targeting)).collect();
    let members = matching(app, workspace, profiles, &targetings).await?;
    for (NamedTargeting { segment, .. }, users) in segments.iter().zip(members) {
        for user in users {
            of_user.entry(user).or_default().push(segment.clone());
        }
    }
    Ok(of_user)
}
