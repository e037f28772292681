//! Changes of a definition: in place, or in a pending draft while the campaign is live and stays so.

use engines::vault::Vault;
use kernel::{CampaignId, Error, Result, Timestamp};

use super::{Step, Who, change, create::NOT_SCHEDULABLE, lifecycle::refuse_unsendable, secrets};
use crate::{
    CampaignState,
    model::{
        Action, Call, Campaign, Change, ChangeType, Definition, Edit, IN_THE_FUTURE, PendingDraft,
        Precondition, State, Status, timing,
    },
};

/// Changes the fields that were sent, where the campaign is still what the caller expects.
///
/// # Errors
/// Not found; every invalid field; a conflict in a status that does not allow this change, and where the campaign was
/// changed.
pub async fn update(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    edit: &Edit,
    precondition: &Precondition,
) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        precondition.check(campaign)?;
        edited(app.vault(), campaign, edit, who, now)
    })
    .await
}

fn edited(
    vault: &Vault,
    campaign: &Campaign,
    edit: &Edit,
    who: &Who,
    now: Timestamp,
) -> Result<Option<Step>> {
    let old = latest_definition(campaign);
    // Parsing large templates takes a while.
    let mut new = tokio::task::block_in_place(|| edit.over(old, &who.zone, now))?;
    secrets::seal(vault, who.workspace, &mut new, &[old, &campaign.definition])?;
    let call = requested_transition(campaign, edit)?;
    if *old == new && call.is_none() {
        return Ok(None);
    }
    let mut step = if *old == new {
        Step { action: Action::Updated, ..unchanged(campaign) }
    } else {
        redefine(campaign, &new, EditReason::Update, now)?
    };
    if let Some(call) = call {
        let before = step.campaign.state.status;
        // Removing its time has already made it a draft.
        if call != Call::Unschedule || before != Status::Draft {
            if call == Call::Schedule {
                refuse_unschedulable(&step.campaign.definition, now)?;
            }
            step.campaign = step.campaign.transition(call, now)?;
            step.call = Some(call);
        }
    }
    record_status(campaign, &mut step);
    Ok(Some(step))
}

fn unchanged(campaign: &Campaign) -> Step {
    Step {
        campaign: campaign.clone(),
        action: Action::Updated,
        changes: Vec::new(),
        call: None,
        version: None,
    }
}

fn record_status(from: &Campaign, step: &mut Step) {
    let (old, new) = (from.state.status, step.campaign.state.status);
    if old != new {
        step.changes.push(Change::of("/status", old.as_str(), new.as_str()));
    }
}

/// The transition requested by `status` in a body.
fn requested_transition(campaign: &Campaign, edit: &Edit) -> Result<Option<Call>> {
    match (campaign.state.status, edit.status) {
        (_, None) => Ok(None),
        (from, Some(to)) if from == to => Ok(None),
        (Status::Draft, Some(Status::Scheduled)) => Ok(Some(Call::Schedule)),
        (Status::Scheduled, Some(Status::Draft)) => Ok(Some(Call::Unschedule)),
        (from, Some(to)) => Err(Error::Conflict(format!(
            "The campaign is {}: use the lifecycle endpoints to make it {}",
            from.as_str(),
            to.as_str()
        ))),
    }
}

/// The definition including pending edits.
pub(super) fn latest_definition(campaign: &Campaign) -> &Definition {
    campaign.pending_draft.as_ref().map_or(&campaign.definition, |draft| &draft.definition)
}

fn refuse_unschedulable(definition: &Definition, now: Timestamp) -> Result<()> {
    match definition.scheduled_for() {
        None => Err(Error::invalid("status", NOT_SCHEDULABLE)),
        Some(at) if at <= now => Err(Error::invalid("scheduledAt", IN_THE_FUTURE)),
        Some(_) => Ok(()),
    }
}

/// Why a definition changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditReason {
    Update,
    Rollback,
}

/// A change of the definition, by the status of the campaign.
///
/// # Errors
/// A conflict if the status does not allow this change.
pub(super) fn redefine(
    campaign: &Campaign,
    new: &Definition,
    reason: EditReason,
    now: Timestamp,
) -> Result<Step> {
    let (action, change_type) = match reason {
        EditReason::Update => (Action::Updated, ChangeType::Update),
        EditReason::Rollback => (Action::RolledBack, ChangeType::Rollback),
    };
    let old = latest_definition(campaign);
    let status = campaign.state.status;
    let kind = campaign.definition.kind();
    let conflict =
        |why: &str| Err(Error::Conflict(format!("The campaign is {}: {why}", status.as_str())));
    match status {
        Status::Archived | Status::Cancelled => return conflict("it cannot be changed any more"),
        Status::Completed => refuse_all_but_descriptive_fields(&campaign.definition, new, status)?,
        Status::Active if !kind.stays_live() => {
            refuse_all_but_descriptive_fields(&campaign.definition, new, status)?;
        }
        _ => {}
    }
    let is_another = |new: &Definition| {
        new.channel != campaign.definition.channel || new.send_type != campaign.definition.send_type
    };
    if campaign.is_under_way() && is_another(new) {
        return conflict("channel and sendType cannot change once it was live");
    }
    let mut changed = campaign.clone();
    let is_buffered = status == Status::Active && kind.stays_live()
        || status == Status::Paused && campaign.pending_draft.is_some();
    if is_buffered {
        changed.pending_draft = Some(PendingDraft { definition: new.clone(), updated_at: now });
        let action = if action == Action::Updated { Action::DraftUpdated } else { action };
        return Step::redefined(changed, old, new, action, change_type);
    }
    changed.definition = new.clone();
    if status == Status::Scheduled {
        rescheduled(campaign, &mut changed, now)?;
    }
    Step::redefined(changed, old, new, action, change_type)
}

/// A scheduled campaign follows its new time; without a time it becomes a draft.
fn rescheduled(from: &Campaign, changed: &mut Campaign, now: Timestamp) -> Result<()> {
    let (old, new) = (from.definition.scheduled_for(), changed.definition.scheduled_for());
    if old == new {
        return Ok(());
    }
    match new {
        Some(at) if at <= now => {
            return Err(Error::invalid("scheduledAt", IN_THE_FUTURE));
        }
        Some(at) => changed.state.next_send_at = Some(at),
        None => *changed = changed.transition(Call::Unschedule, now)?,
    }
    Ok(())
}

/// While it is sent, and afterwards, only descriptive fields may change.
fn refuse_all_but_descriptive_fields(
    old: &Definition,
    new: &Definition,
    status: Status,
) -> Result<()> {
    let named = Definition {
        name: new.name.clone(),
        description: new.description.clone(),
        tags: new.tags.clone(),
        ..old.clone()
    };
    if named == *new {
        return Ok(());
    }
    Err(Error::Conflict(format!(
        "The campaign is {}: only name, description and tags can be changed",
        status.as_str()
    )))
}

/// Replaces the live definition by the pending draft, in one step.
///
/// # Errors
/// Not found; a bad request if there are no pending edits, or if they cannot be sent; a conflict if the
/// campaign is not live.
pub async fn publish(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        let Some(draft) = &campaign.pending_draft else {
            return Err(Error::bad_request("The campaign has no pending edits"));
        };
        if !matches!(campaign.state.status, Status::Active | Status::Paused) {
            return Err(Error::Conflict(format!(
                "The campaign is {}: only a live campaign can publish edits",
                campaign.state.status.as_str()
            )));
        }
        refuse_unsendable(&draft.definition, now)?;
        let mut published = campaign.clone();
        published.definition = draft.definition.clone();
        published.pending_draft = None;
        if campaign.definition.recurring_schedule != draft.definition.recurring_schedule {
            let State { status, occurrence, .. } = published.state;
            published.state.next_send_at =
                timing::next_send_at(&published.definition, status, occurrence, now);
        }
        let (old, new) = (&campaign.definition, &draft.definition);
        Step::redefined(published, old, new, Action::Published, ChangeType::Publish).map(Some)
    })
    .await
}

/// Discards the pending draft, if there is one.
///
/// # Errors
/// Not found.
pub async fn discard_draft(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    change(app, who, id, |campaign, _| {
        if campaign.pending_draft.is_none() {
            return Ok(None);
        }
        let mut unchanged_campaign = campaign.clone();
        unchanged_campaign.pending_draft = None;
        Ok(Some(Step {
            campaign: unchanged_campaign,
            action: Action::DraftDiscarded,
            ..unchanged(campaign)
        }))
    })
    .await
}
