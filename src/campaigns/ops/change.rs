//! The one way in which a campaign changes: read it, judge, and put another in its place with the
//! record of it, or begin again where somebody else was faster.
//!
//! Of callers that race, one gets what it asked for. The others judge again by what it left, so that
//! they are refused for a reason that is true.

use contacts::lists;
use kernel::{CampaignId, Error, ListId, Result, Timestamp, WorkspaceId};

use super::{NOT_FOUND, consent, secrets, senders};
use crate::{
    CampaignState,
    model::{
        Action, Call, Campaign, Change, ChangeType, Definition, Difference, NO_SUCH_LIST, Status,
        changed_fields, differences, for_history,
    },
    store::{self, Saved},
};

/// Times a change is tried. Each lost race means that somebody else's change was made.
const TRIES_MAX: u32 = 100;
/// The actor of what happens by itself.
const SYSTEM: &str = "system";

/// Who does something, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The wall around it.
    pub workspace: WorkspaceId,
    /// For the record: `api_key:…`.
    pub actor: String,
    /// The zone of times that name none, an IANA name.
    pub zone: String,
}

impl Who {
    /// The service itself, when a time has come.
    pub fn system(workspace: WorkspaceId) -> Self {
        Self { workspace, actor: SYSTEM.to_owned(), zone: String::new() }
    }
}

/// What becomes of a campaign, and what is written down of it.
#[derive(Debug, Clone)]
pub struct Step {
    /// The campaign as it becomes.
    pub campaign: Campaign,
    /// What the history calls it.
    pub action: Action,
    /// What the history says it changed.
    pub changes: Vec<Change>,
    /// The transition it is, for the metrics.
    pub call: Option<Call>,
    /// The version it makes.
    pub version: Option<NewVersion>,
}

/// A version to be kept.
#[derive(Debug, Clone)]
pub struct NewVersion {
    change_type: ChangeType,
    changed_fields: Vec<String>,
    snapshot: Definition,
}

impl Step {
    /// A transition.
    ///
    /// # Errors
    /// The refusal of the state machine.
    pub fn moved(from: &Campaign, call: Call, action: Action, now: Timestamp) -> Result<Self> {
        Ok(Self::to(from, from.moved(call, now)?, call, action))
    }

    /// A transition whose outcome is known.
    pub fn to(from: &Campaign, campaign: Campaign, call: Call, action: Action) -> Self {
        let status = |campaign: &Campaign| campaign.state.status.as_str();
        let mut changes = vec![Change::of("/status", status(from), status(&campaign))];
        if campaign.state.failure_reason != from.state.failure_reason {
            let (old, new) = (&from.state.failure_reason, &campaign.state.failure_reason);
            changes.push(Change::of("/failureReason", old.clone(), new.clone()));
        }
        Self { campaign, action, changes, call: Some(call), version: None }
    }

    /// A change of what is said, from one definition to another, which makes a version.
    ///
    /// # Errors
    /// When a definition cannot be written out.
    pub fn said(
        campaign: Campaign,
        (old, new): (&Definition, &Definition),
        action: Action,
        change_type: ChangeType,
    ) -> Result<Self> {
        let (before, after) = (old.value()?, new.value()?);
        let version = NewVersion {
            change_type,
            changed_fields: changed_fields(&before, &after),
            snapshot: new.clone(),
        };
        let differences = differences(&before, &after).into_iter().map(Difference::hidden);
        let changes = for_history(differences.collect());
        Ok(Self { campaign, action, changes, call: None, version: Some(version) })
    }

    /// Whether something is sent from now on that was not before.
    fn goes_live(&self, from: &Campaign) -> bool {
        let is_live = |campaign: &Campaign| campaign.state.status == Status::Active;
        is_live(&self.campaign) && (!is_live(from) || self.campaign.definition != from.definition)
    }

    /// The list that what is said newly names.
    fn list_to_look_up(&self, from: &Campaign) -> Option<ListId> {
        let named = |definition: &Definition| definition.subscription_category_id;
        let version = self.version.as_ref()?;
        let list = named(&version.snapshot)?;
        let draft = from.pending_draft.as_ref().and_then(|draft| named(&draft.definition));
        let is_known = Some(list) == named(&from.definition) || Some(list) == draft;
        (!is_known).then_some(list)
    }
}

/// Changes a campaign by what `judge` makes of it; where it makes nothing, the campaign is answered as
/// it is.
///
/// # Errors
/// Not found; whatever `judge` refuses; a conflict where others were faster again and again.
pub async fn change(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    judge: impl Fn(&Campaign, Timestamp) -> Result<Option<Step>> + Send,
) -> Result<Campaign> {
    for _ in 0..TRIES_MAX {
        let stored = store::find(app.db(), who.workspace, id).await?.ok_or(NOT_FOUND)?;
        // Secrets stored before they were sealed are sealed by whatever changes the campaign next.
        let from = secrets::sealed_campaign(app.vault(), who.workspace, &stored);
        let now = app.clock().now();
        let Some(step) = judge(&from, now)? else { return Ok(from) };
        if let Some(list) = step.list_to_look_up(&from) {
            look_up(app, who.workspace, list).await?;
        }
        if step.goes_live(&from)
            && let Some(fault) =
                consent::fault(app, who.workspace, &step.campaign.definition).await?
        {
            return Err(Error::Invalid(vec![fault]));
        }
        if step.goes_live(&from)
            && let Some(fault) =
                senders::fault(app, who.workspace, &step.campaign.definition).await?
        {
            return Err(Error::Invalid(vec![fault]));
        }
        if let Some(campaign) = commit(app.db(), who, (&stored, step), now).await? {
            return Ok(campaign);
        }
    }
    Err(Error::Conflict("The campaign is being changed by others; try again".to_owned()))
}

/// Makes a step, if the campaign is still what it was.
pub(super) async fn commit(
    db: impl sqlx::PgExecutor<'_>,
    who: &Who,
    (from, step): (&Campaign, Step),
    now: Timestamp,
) -> Result<Option<Campaign>> {
    let mut campaign = step.campaign;
    campaign.updated_at = now;
    if step.version.is_some() {
        campaign.updated_by.clone_from(&who.actor);
    }
    let version = step.version.as_ref();
    let saved = Saved {
        actor: &who.actor,
        now,
        action: step.action,
        changes: &step.changes,
        version: version.map(|it| (it.change_type, it.changed_fields.as_slice(), &it.snapshot)),
    };
    if !store::save(db, who.workspace, (from, &campaign), &saved).await? {
        return Ok(None);
    }
    campaign.revision += 1;
    campaign.version += i32::from(version.is_some());
    if let Some(call) = step.call {
        metrics_catalogue::CAMPAIGN_TRANSITIONS.with([call.as_str()]).increment(1);
    }
    Ok(Some(campaign))
}

/// Refuses a subscription list that is not an active one of the workspace.
///
/// # Errors
/// One of the field that names it.
pub(super) async fn look_up(
    app: &CampaignState,
    workspace: WorkspaceId,
    list: ListId,
) -> Result<()> {
    match lists::ops::get(app, workspace, list).await {
        Err(Error::NotFound(_)) => Err(Error::invalid("subscriptionCategoryId", NO_SUCH_LIST)),
        found => found.map(drop),
    }
}
