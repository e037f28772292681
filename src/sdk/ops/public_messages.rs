//! The in-app messages that an app may show without a user token.
//!
//! The answer must not tell whether the person named has a profile, nor anything of it. So it depends on the
//! name alone: campaigns for everyone, in the variant that the name draws, rendered without attributes and links,
//! whatever was displayed before. Where there is a profile, what it was handed is recorded as ever.

use std::collections::HashMap;

use contacts::audience::model::Targeting;
use kernel::{Result, UserId, WorkspaceId};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{
    live::Ready,
    messages::{MESSAGES_MAX, Offered, Placed, ShownTo, draw, keep, render, suited},
};
use crate::{
    SdkState,
    model::{self, Shown},
    store::recipients,
};

/// Whom an app without a user token says it shows messages to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Viewer<'a> {
    /// The name it gives.
    pub(crate) name: &'a str,
    /// The profile of that name, where there is one.
    pub(crate) user: Option<UserId>,
}

/// What an app may show somebody who is not proven, what goes first at first.
///
/// # Errors
/// When a store is away.
pub(crate) async fn messages(
    app: &SdkState,
    workspace: WorkspaceId,
    viewer: Viewer<'_>,
    asking: &model::App,
) -> Result<Vec<Offered>> {
    let now = app.clock().now();
    let live = app.in_app().of(app, workspace).await?;
    let mut open = suited(&live, asking, now);
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
    let mut placed = Vec::new();
    for ready in open {
        let known = known.remove(&ready.campaign.id);
        if let Some((variant, is_control)) = draw(&ready, user, known.as_ref(), now) {
            placed.push(Placed { ready, variant, is_control, known });
        }
        if placed.iter().filter(|it| !it.is_control).count() >= MESSAGES_MAX {
            break;
        }
    }
    let rendered = render(app, workspace, (user, ShownTo::Anybody), placed).await?;
    if let Some(user) = viewer.user {
        keep(app, workspace, user, &rendered).await?;
    }
    let offered = rendered.into_iter().filter_map(|it| it.into_offered(user));
    Ok(offered.map(|offered| Offered { shown: Shown::default(), ..offered }).collect())
}

/// Whether a campaign means every profile, so that it says nothing of the one it is shown to.
fn is_for_everyone(ready: &Ready) -> bool {
    ready.campaign.definition.targeting.as_ref().is_none_or(|targeting| {
        let Targeting { user_ids, filter_groups, exclude_filter_groups, .. } = targeting;
        let is_empty = |groups: &Option<Vec<_>>| groups.as_ref().is_none_or(Vec::is_empty);
        user_ids.is_none() && is_empty(filter_groups) && is_empty(exclude_filter_groups)
    })
}

/// The id by which somebody without a profile draws variants: always the same for the same name.
fn stand_in(workspace: WorkspaceId, name: &str) -> UserId {
    let mut hash = Sha256::new();
    hash.update(workspace.uuid().as_bytes());
    hash.update(name.as_bytes());
    let mut id = [0; 12];
    id.copy_from_slice(&hash.finalize()[..12]);
    UserId::from_bytes(id)
}
