//! The in-app messages that an app may display without a user token.
//!
//! The answer must not reveal whether the named person has a profile, nor anything about it. It therefore
//! depends on the name alone: only campaigns for everyone, the variant drawn by the name, rendered without
//! attributes and links, whatever was displayed before. If there is a profile, its messages are recorded as
//! usual.

use std::collections::HashMap;

use audience::model::Targeting;
use kernel::{Result, UserId, WorkspaceId};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{
    live::Ready,
    messages::{
        AssignedCampaign, DisplayableMessage, MESSAGES_MAX, RenderFor, draw, record, render,
        suitable,
    },
};
use crate::{
    SdkState,
    model::{self, DisplayHistory},
    store::recipients,
};

/// The unproven person that an app requests messages for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Viewer<'a> {
    /// The id that the app sent.
    pub(crate) name: &'a str,
    /// The profile with that id, if there is one.
    pub(crate) user: Option<UserId>,
}

/// The messages an app may display to an unproven person, in the order of display.
///
/// # Errors
/// If a store is unavailable.
pub(crate) async fn messages(
    app: &SdkState,
    workspace: WorkspaceId,
    viewer: Viewer<'_>,
    requesting_app: &model::App,
) -> Result<Vec<DisplayableMessage>> {
    let now = app.clock().now();
    let live = app.in_app().of(app, workspace).await?;
    let mut open = suitable(&live, requesting_app, now);
    open.retain(|ready| is_for_everyone(ready));
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = open.iter().map(|it| it.campaign.id.uuid()).collect();
    let mut known = match viewer.user {
        Some(user) => recipients::of_user(app.db(), workspace, user, &ids).await?,
        None => HashMap::new(),
    };
    let user = viewer.user.unwrap_or_else(|| stand_in(workspace, viewer.name));
    let mut assigned = Vec::new();
    for ready in open {
        let known = known.remove(&ready.campaign.id);
        if let Some((variant, is_control)) = draw(&ready, user, known.as_ref(), now) {
            assigned.push(AssignedCampaign { ready, variant, is_control, known });
        }
        if assigned.iter().filter(|it| !it.is_control).count() >= MESSAGES_MAX {
            break;
        }
    }
    let rendered = render(app, workspace, user, RenderFor::Everyone, assigned).await?;
    if let Some(user) = viewer.user {
        record(app, workspace, user, &rendered).await?;
    }
    let message = rendered.into_iter().filter_map(|it| it.into_message(user));
    Ok(message
        .map(|message| DisplayableMessage { shown: DisplayHistory::default(), ..message })
        .collect())
}

/// Whether a campaign targets every profile, so that its message reveals nothing about the person.
fn is_for_everyone(ready: &Ready) -> bool {
    ready.campaign.definition.targeting.as_ref().is_none_or(|targeting| {
        let Targeting { user_ids, filter_groups, exclude_filter_groups, .. } = targeting;
        let is_empty = |groups: &Option<Vec<_>>| groups.as_ref().is_none_or(Vec::is_empty);
        user_ids.is_none() && is_empty(filter_groups) && is_empty(exclude_filter_groups)
    })
}

/// An id for drawing variants without a profile: always the same for the same name.
fn stand_in(workspace: WorkspaceId, name: &str) -> UserId {
    let mut hash = Sha256::new();
    hash.update(workspace.uuid().as_bytes());
    hash.update(name.as_bytes());
    let mut id = [0; 12];
    id.copy_from_slice(&hash.finalize()[..12]);
    UserId::from_bytes(id)
}
