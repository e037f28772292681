//! Making campaigns: from a body, or from another campaign.

use kernel::{CampaignId, Error, Result, Timestamp};

use super::{NOT_FOUND, Who, change::look_up, secrets};
use crate::{
    CampaignState,
    model::{
        Action, Campaign, Change, ChangeType, Definition, Edit, NAME_CHARS_MAX, State, Status,
        changed_fields, timing,
    },
    store::{self, Saved},
};

/// What the name of a copy ends in.
const COPY: &str = " (copy)";

/// Makes a campaign: scheduled where it says when it is to be sent, else a draft (DECISIONS K1, F14).
///
/// # Errors
/// Every complaint about the body.
pub async fn create(app: &CampaignState, who: &Who, edit: &Edit) -> Result<Campaign> {
    let now = app.clock().now();
    // Reading large templates keeps a core busy for a while.
    let mut definition = tokio::task::block_in_place(|| edit.create(&who.zone, now))?;
    secrets::seal(app.vault(), who.workspace, &mut definition, &[])?;
    let status = first_status(edit, &definition)?;
    if let Some(list) = definition.subscription_category_id {
        look_up(app, who.workspace, list).await?;
    }
    insert(app, who, (definition, status), Vec::new()).await
}

fn first_status(edit: &Edit, definition: &Definition) -> Result<Status> {
    let scheduled = definition.scheduled_for();
    match (edit.status, scheduled) {
        (None | Some(Status::Scheduled), Some(_)) => Ok(Status::Scheduled),
        (None, None) | (Some(Status::Draft), _) => Ok(Status::Draft),
        (Some(Status::Scheduled), None) => Err(Error::invalid("status", NOT_SCHEDULABLE)),
        (Some(_), _) => Err(Error::invalid("status", "must be draft or scheduled")),
    }
}

/// What a campaign without a time is answered with when it is to wait for it.
pub(super) const NOT_SCHEDULABLE: &str =
    "can be scheduled only where sendType is scheduled and scheduledAt is set";

/// Makes a draft of what a campaign says, under a name that tells it is a copy.
///
/// # Errors
/// Not found.
pub async fn duplicate(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    let source = store::find(app.db(), who.workspace, id).await?.ok_or(NOT_FOUND)?;
    let mut definition = source.definition;
    definition.name = copied(&definition.name);
    secrets::seal_kept(app.vault(), who.workspace, &mut definition);
    let from = Change::of("/duplicatedFrom", (), id.to_string());
    insert(app, who, (definition, Status::Draft), vec![from]).await
}

/// The name of a copy, its beginning shortened where it would be too long.
fn copied(name: &str) -> String {
    let kept = NAME_CHARS_MAX - COPY.chars().count();
    let beginning: String = name.chars().take(kept).collect();
    format!("{}{COPY}", beginning.trim_end())
}

async fn insert(
    app: &CampaignState,
    who: &Who,
    (definition, status): (Definition, Status),
    changes: Vec<Change>,
) -> Result<Campaign> {
    let now: Timestamp = app.clock().now();
    let next_send_at = timing::next_send_at(&definition, (status, 0), now);
    let campaign = Campaign {
        id: CampaignId::mint(now),
        revision: 1,
        definition,
        pending_draft: None,
        version: 1,
        state: State::new(status, next_send_at),
        created_by: who.actor.clone(),
        updated_by: who.actor.clone(),
        created_at: now,
        updated_at: now,
    };
    let fields = changed_fields(&serde_json::Value::Null, &campaign.definition.value()?);
    let saved = Saved {
        actor: &who.actor,
        now,
        action: Action::Created,
        changes: &changes,
        version: Some((ChangeType::Create, &fields, &campaign.definition)),
    };
    store::insert(app.db(), who.workspace, &campaign, &saved).await?;
    Ok(campaign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_says_so_and_its_name_is_never_too_long() {
        assert_eq!(copied("Spring"), "Spring (copy)");
        assert_eq!(copied("Spring (copy)"), "Spring (copy) (copy)");
        let long = "ä".repeat(NAME_CHARS_MAX);
        assert_eq!(copied(&long).chars().count(), NAME_CHARS_MAX);
        assert!(copied(&long).ends_with("ä (copy)"));
        let exact = "x".repeat(NAME_CHARS_MAX - COPY.len());
        assert_eq!(copied(&exact), format!("{exact} (copy)"));
    }
}
