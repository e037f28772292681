//! Changes of a campaign with optimistic locking: read it, decide, and store the new state with its history
//! entry; retry if it changed meanwhile.
//!
//! Of concurrent callers one succeeds. The others decide again on the new state, so that a refusal has the
//! true reason.

use audience::model::Targeting;
use contacts::lists;
use kernel::{CampaignId, Error, ListId, Result, Timestamp, WorkspaceId};
use sqlx::PgConnection;

use super::{NOT_FOUND, consent, secrets, segments, senders};
use crate::{
    CampaignState,
    model::{
        Action, Call, Campaign, Change, ChangeType, Definition, Difference, NO_SUCH_LIST, Status,
        changed_fields, differences, for_history,
    },
    store::{self, Saved, SavedVersion},
};

/// Attempts of a change. Each lost race means that another change succeeded.
const TRIES_MAX: u32 = 100;
/// The actor of automatic changes.
const SYSTEM: &str = "system";

/// The actor and the workspace of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    pub workspace: WorkspaceId,
    /// For the history: `api_key:…`.
    pub actor: String,
    /// The IANA zone of times without one.
    pub zone: String,
}

impl Who {
    /// The service itself, for automatic changes.
    pub fn system(workspace: WorkspaceId) -> Self {
        Self { workspace, actor: SYSTEM.to_owned(), zone: String::new() }
    }
}

/// A change of a campaign and its history entry.
#[derive(Debug, Clone)]
pub struct Step {
    /// The campaign after the change.
    pub campaign: Campaign,
    /// The action in the history.
    pub action: Action,
    /// The changed fields in the history.
    pub changes: Vec<Change>,
    /// The transition, for the metrics.
    pub call: Option<Call>,
    /// The new version, if the definition changed.
    pub version: Option<NewVersion>,
}

/// A version to store.
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
    pub fn transition(from: &Campaign, call: Call, action: Action, now: Timestamp) -> Result<Self> {
        Ok(Self::to(from, from.transition(call, now)?, call, action))
    }

    /// A transition to a known state.
    pub fn to(from: &Campaign, campaign: Campaign, call: Call, action: Action) -> Self {
        let status = |campaign: &Campaign| campaign.state.status.as_str();
        let mut changes = vec![Change::of("/status", status(from), status(&campaign))];
        if campaign.state.failure_reason != from.state.failure_reason {
            let (old, new) = (&from.state.failure_reason, &campaign.state.failure_reason);
            changes.push(Change::of("/failureReason", old.clone(), new.clone()));
        }
        Self { campaign, action, changes, call: Some(call), version: None }
    }

    /// A change from one definition to another, which makes a version.
    ///
    /// # Errors
    /// If a definition cannot be serialized.
    pub fn redefined(
        campaign: Campaign,
        old: &Definition,
        new: &Definition,
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

    /// Whether the change starts sending something new.
    fn goes_live(&self, from: &Campaign) -> bool {
        let is_live = |campaign: &Campaign| campaign.state.status == Status::Active;
        is_live(&self.campaign) && (!is_live(from) || self.campaign.definition != from.definition)
    }

    /// The list, if the change names another one.
    fn new_list(&self, from: &Campaign) -> Option<ListId> {
        let named = |definition: &Definition| definition.subscription_category_id;
        let version = self.version.as_ref()?;
        let list = named(&version.snapshot)?;
        let draft = from.pending_draft.as_ref().and_then(|draft| named(&draft.definition));
        let is_known = Some(list) == named(&from.definition) || Some(list) == draft;
        (!is_known).then_some(list)
    }
}

/// Changes a campaign by the step that `decide` returns; without a step the campaign is returned unchanged.
///
/// # Errors
/// Not found; the error of `decide`; a conflict if every attempt lost a race.
pub async fn change(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    decide: impl Fn(&Campaign, Timestamp) -> Result<Option<Step>> + Send,
) -> Result<Campaign> {
    for _ in 0..TRIES_MAX {
        let stored = store::find(app.db(), who.workspace, id).await?.ok_or(NOT_FOUND)?;
        // Secrets stored before sealing existed are sealed by the next change.
        let from = secrets::sealed_campaign(app.vault(), who.workspace, &stored);
        let now = app.clock().now();
        let Some(step) = decide(&from, now)? else { return Ok(from) };
        if let Some(list) = step.new_list(&from) {
            require_active_list(app, who.workspace, list).await?;
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
        let mut tx = app.db().begin().await?;
        hold_segments(&mut tx, who.workspace, &step.campaign).await?;
        if step.goes_live(&from)
            && let Some(fault) =
                segments::fault(&mut *tx, who.workspace, &step.campaign.definition).await?
        {
            return Err(Error::Invalid(vec![fault]));
        }
        if let Some(campaign) = commit(&mut *tx, who, &stored, step, now).await? {
            tx.commit().await?;
            return Ok(campaign);
        }
    }
    Err(Error::Conflict("The campaign is being changed by others; try again".to_owned()))
}

/// Keeps the segments that a campaign uses from being deleted until it is saved.
pub(super) async fn hold_segments(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    campaign: &Campaign,
) -> Result<()> {
    let draft = campaign.pending_draft.as_ref().map(|draft| &draft.definition);
    let definitions = [Some(&campaign.definition), draft].into_iter().flatten();
    let targetings: Vec<&Targeting> =
        definitions.filter_map(|definition| definition.targeting.as_ref()).collect();
    audience::ops::hold_segments(tx, workspace, &targetings).await
}

/// Stores a step; none if the campaign changed since `from` was read.
pub(super) async fn commit(
    db: impl sqlx::PgExecutor<'_>,
    who: &Who,
    from: &Campaign,
    step: Step,
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
        version: version.map(|it| SavedVersion {
            change_type: it.change_type,
            changed_fields: &it.changed_fields,
            snapshot: &it.snapshot,
        }),
    };
    if !store::save(db, who.workspace, from, &campaign, &saved).await? {
        return Ok(None);
    }
    campaign.revision += 1;
    campaign.version += i32::from(version.is_some());
    if let Some(call) = step.call {
        metrics_catalogue::CAMPAIGN_TRANSITIONS.with([call.as_str()]).increment(1);
    }
    Ok(Some(campaign))
}

/// # Errors
/// One for the field if the list is not an active one of the workspace.
pub(super) async fn require_active_list(
    app: &CampaignState,
    workspace: WorkspaceId,
    list: ListId,
) -> Result<()> {
    match lists::ops::get(app, workspace, list).await {
        Err(Error::NotFound(_)) => Err(Error::invalid("subscriptionCategoryId", NO_SUCH_LIST)),
        found => found.map(drop),
    }
}
