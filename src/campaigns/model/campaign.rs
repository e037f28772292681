//! A campaign: its definition, its state, and transitions between states.

use kernel::{CampaignId, Timestamp, WorkspaceId};
use serde_json::Value;

use super::{
    Call, CampaignChannel, CampaignKind, Definition, Refusal, SendType, Status, TransitionContext,
    status::next, timing, trial::Trial,
};

#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    pub id: CampaignId,
    /// Incremented by every change.
    pub revision: i64,
    /// The definition; of a live campaign the one that is sent.
    pub definition: Definition,
    /// Edits of a live campaign that are not published yet.
    pub pending_draft: Option<PendingDraft>,
    /// The number of its newest version.
    pub version: i32,
    pub state: State,
    pub created_by: String,
    /// The actor of the last change to the definition.
    pub updated_by: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Unpublished edits of a live campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingDraft {
    /// The whole definition, with the edits.
    pub definition: Definition,
    pub updated_at: Timestamp,
}

/// The status of a campaign and its history in brief.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub status: Status,
    /// The status that `resume` returns to.
    pub paused_from: Option<Status>,
    /// The status before archiving.
    pub archived_from: Option<Status>,
    /// Whether it was ever live; such a campaign is never deleted.
    pub ran: bool,
    pub failure_reason: Option<String>,
    /// Number of its latest run.
    pub occurrence: i32,
    /// When the scheduler has to start it.
    pub next_send_at: Option<Timestamp>,
    /// When a message of it was last sent.
    pub last_sent_at: Option<Timestamp>,
    /// When it first became live.
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub cancelled_at: Option<Timestamp>,
    pub archived_at: Option<Timestamp>,
    pub rl: Option<Value>,
    /// The state of its A/B test.
    pub ab: Option<Value>,
}

/// Identifies a campaign among those of all workspaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CampaignKey {
    pub workspace: WorkspaceId,
    pub id: CampaignId,
}

/// A triggered campaign while it is active.
#[derive(Debug, Clone, PartialEq)]
pub struct TriggeredCampaign {
    pub workspace: WorkspaceId,
    pub id: CampaignId,
    /// Incremented by every change.
    pub revision: i64,
    pub definition: Definition,
    /// When it became active: launched or resumed.
    pub since: Timestamp,
}

impl State {
    /// The state of a new campaign.
    pub fn new(status: Status, next_send_at: Option<Timestamp>) -> Self {
        Self {
            status,
            paused_from: None,
            archived_from: None,
            ran: false,
            failure_reason: None,
            occurrence: 0,
            next_send_at,
            last_sent_at: None,
            started_at: None,
            completed_at: None,
            cancelled_at: None,
            archived_at: None,
            rl: None,
            ab: None,
        }
    }
}

impl Definition {
    /// How it is started, for the state machine.
    pub fn kind(&self) -> CampaignKind {
        match (self.channel, self.send_type) {
            (CampaignChannel::InApp, _) => CampaignKind::InApp,
            (_, SendType::Triggered) => CampaignKind::Triggered,
            (_, SendType::Recurring) => CampaignKind::Recurring,
            _ => CampaignKind::OneTime,
        }
    }

    /// The time it is scheduled for, if it is.
    pub fn scheduled_for(&self) -> Option<Timestamp> {
        self.scheduled_at.filter(|_| self.send_type == SendType::Scheduled)
    }
}

impl Campaign {
    /// What its transitions depend on.
    pub fn transition_context(&self, now: Timestamp) -> TransitionContext {
        TransitionContext {
            status: self.state.status,
            kind: self.definition.kind(),
            paused_from: self.state.paused_from,
            archived_from: self.state.archived_from,
            is_ahead: self.definition.scheduled_for().is_some_and(|at| at > now),
        }
    }

    /// Whether its channel and send type are fixed: it is or was under way.
    pub fn is_under_way(&self) -> bool {
        self.state.ran || self.is_active_or_paused()
    }

    /// Whether it is active, or was until it was paused.
    pub fn is_active_or_paused(&self) -> bool {
        let state = &self.state;
        state.status == Status::Active
            || state.status == Status::Paused && state.paused_from == Some(Status::Active)
    }

    /// The campaign after a call; a call without effect returns it unchanged.
    ///
    /// # Errors
    /// The refusal of the state machine.
    pub fn transition(&self, call: Call, now: Timestamp) -> Result<Self, Refusal> {
        let from = self.state.status;
        let to = next(&self.transition_context(now), call)?;
        let mut transition = self.clone();
        if to == from && call != Call::Unarchive {
            return Ok(transition);
        }
        let state = &mut transition.state;
        state.status = to;
        state.next_send_at = match (call, to) {
            (Call::Retry, _) => Some(now),
            _ => timing::next_send_at(&self.definition, to, self.state.occurrence, now),
        };
        match to {
            Status::Active => {
                state.started_at.get_or_insert(now);
                state.ran = true;
                state.completed_at = None;
                if call == Call::Resend
                    || state.occurrence == 0 && self.definition.kind() == CampaignKind::OneTime
                {
                    state.occurrence = state.occurrence.saturating_add(1);
                }
            }
            Status::Paused if call == Call::Pause => state.paused_from = Some(from),
            Status::Paused => {
                // Restored from the archive: it returns to the status that archiving or pausing interrupted.
                let before = state.archived_from.filter(|before| *before != Status::Paused);
                state.paused_from = before.or(state.paused_from);
            }
            Status::Completed if call != Call::Unarchive => {
                state.completed_at = Some(now);
                // An A/B test of which nothing was kept yet goes on.
                let trial = || serde_json::to_value(Trial::of(self)?).ok();
                state.ab = state.ab.take().or_else(trial);
            }
            Status::Cancelled if call != Call::Unarchive => state.cancelled_at = Some(now),
            Status::Archived => {
                state.archived_at = Some(now);
                state.archived_from = Some(from);
            }
            _ => {}
        }
        if call == Call::Unarchive {
            (state.archived_at, state.archived_from) = (None, None);
        }
        if call == Call::Retry {
            state.failure_reason = None;
        }
        if matches!(to, Status::Completed | Status::Cancelled) {
            transition.pending_draft = None;
        }
        Ok(transition)
    }

    /// The failed campaign, with the reason shown to users.
    ///
    /// # Errors
    /// The refusal of the state machine.
    pub fn failed(&self, reason: impl Into<String>, now: Timestamp) -> Result<Self, Refusal> {
        let mut failed = self.transition(Call::Fail, now)?;
        failed.state.failure_reason = Some(reason.into());
        Ok(failed)
    }
}
