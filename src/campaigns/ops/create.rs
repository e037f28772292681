//! Creation of campaigns, from a body or as a copy.

use kernel::{CampaignId, Error, Result, Timestamp};

use super::{
    NOT_FOUND, Who,
    change::{hold_segments, require_active_list},
    secrets,
};
use crate::{
    CampaignState,
    model::{
        Action, Campaign, Change, ChangeType, Definition, Edit, NAME_CHARS_MAX, State, Status,
        changed_fields, timing,
    },
    store::{self, Saved, SavedVersion},
};

/// The suffix of a copy's name.
const COPY: &str = " (copy)";

/// Creates a campaign: scheduled if it has a time to be sent at, otherwise a draft.
///
/// # Errors
/// Every error of the body.
pub async fn create(app: &CampaignState, who: &Who, edit: &Edit) -> Result<Campaign> {
    let now = app.clock().now();
    // Parsing large templates takes a while.
    let mut definition = tokio::task::block_in_place(|| edit.create(&who.zone, now))?;
    secrets::seal(app.vault(), who.workspace, &mut definition, &[])?;
    let status = initial_status(edit, &definition)?;
    if let Some(list) = definition.subscription_category_id {
        require_active_list(app, who.workspace, list).await?;
    }
    insert(app, who, definition, status, Vec::new()).await
}

fn initial_status(edit: &Edit, definition: &Definition) -> Result<Status> {
    let scheduled = definition.scheduled_for();
    match (edit.status, scheduled) {
        (None | Some(Status::Scheduled), Some(_)) => Ok(Status::Scheduled),
        (None, None) | (Some(Status::Draft), _) => Ok(Status::Draft),
        (Some(Status::Scheduled), None) => Err(Error::invalid("status", NOT_SCHEDULABLE)),
        (Some(_), _) => Err(Error::invalid("status", "must be draft or scheduled")),
    }
}

/// The refusal to schedule a campaign without a time.
pub(super) const NOT_SCHEDULABLE: &str =
    "can be scheduled only where sendType is scheduled and scheduledAt is set";

/// Creates a draft with the definition of a campaign and a name that marks it as a copy.
///
/// # Errors
/// Not found.
pub async fn duplicate(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    let source = store::find(app.db(), who.workspace, id).await?.ok_or(NOT_FOUND)?;
    let mut definition = source.definition;
    definition.name = copy_name(&definition.name);
    secrets::seal_stored(app.vault(), who.workspace, &mut definition);
    let from = Change::of("/duplicatedFrom", (), id.to_string());
    insert(app, who, definition, Status::Draft, vec![from]).await
}

/// The name of a copy; the original name is shortened if it would be too long.
fn copy_name(name: &str) -> String {
    let kept = NAME_CHARS_MAX - COPY.chars().count();
    let beginning: String = name.chars().take(kept).collect();
    format!("{}{COPY}", beginning.trim_end())
}

async fn insert(
    app: &CampaignState,
    who: &Who,
    definition: Definition,
    status: Status,
    changes: Vec<Change>,
) -> Result<Campaign> {
    let now: Timestamp = app.clock().now();
    let next_send_at = timing::next_send_at(&definition, status, 0, now);
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
        version: Some(SavedVersion {
            change_type: ChangeType::Create,
            changed_fields: &fields,
            snapshot: &campaign.definition,
        }),
    };
    let mut tx = app.db().begin().await?;
    hold_segments(&mut tx, who.workspace, &campaign).await?;
    store::insert(&mut *tx, who.workspace, &campaign, &saved).await?;
    tx.commit().await?;
    Ok(campaign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_named_as_such_within_the_limit() {
        assert_eq!(copy_name("Spring"), "Spring (copy)");
        assert_eq!(copy_name("Spring (copy)"), "Spring (copy) (copy)");
        let long = "ä".repeat(NAME_CHARS_MAX);
        assert_eq!(copy_name(&long).chars().count(), NAME_CHARS_MAX);
        assert!(copy_name(&long).ends_with("ä (copy)"));
        let exact = "x".repeat(NAME_CHARS_MAX - COPY.len());
        assert_eq!(copy_name(&exact), format!("{exact} (copy)"));
    }
}
