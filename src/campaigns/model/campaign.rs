//! A campaign: what it says, where it stands, and what a call makes of it.

use kernel::{CampaignId, Timestamp, WorkspaceId};
use serde_json::Value;

use super::{
    Call, CampaignChannel, Definition, Kind, Refusal, SendType, Standing, Status, status::next,
    timing,
};

/// A campaign as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    pub id: CampaignId,
    /// Grows with every change.
    pub revision: i64,
    /// What it says; of a live one, what is being sent.
    pub definition: Definition,
    /// Edits of a live one that are not published yet.
    pub pending_draft: Option<PendingDraft>,
    /// The number of its newest version.
    pub version: i32,
    pub state: State,
    pub created_by: String,
    /// Who last changed what it says.
    pub updated_by: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// What a live campaign will say once it is published.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingDraft {
    /// All of it, edited or not.
    pub definition: Definition,
    /// When it was last edited.
    pub updated_at: Timestamp,
}

/// Where a campaign stands, and how it got there.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub status: Status,
    /// What a paused one goes on with.
    pub paused_from: Option<Status>,
    /// What an archived one was.
    pub archived_from: Option<Status>,
    /// Whether it was ever live; if so it is never removed.
    pub ran: bool,
    pub failure_reason: Option<String>,
    /// How many times it went out.
    pub occurrence: i32,
    /// When the sender has to look at it.
    pub next_send_at: Option<Timestamp>,
    /// When a message of it last left.
    pub last_sent_at: Option<Timestamp>,
    /// When it was first live.
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// When it was called off.
    pub cancelled_at: Option<Timestamp>,
    /// When it was put away.
    pub archived_at: Option<Timestamp>,
    pub rl: Option<Value>,
    /// Where the trial of its variants stands.
    pub ab: Option<Value>,
}

/// A triggered campaign while it is active.
#[derive(Debug, Clone, PartialEq)]
pub struct Standby {
    pub workspace: WorkspaceId,
    pub id: CampaignId,
    /// Grows with every change.
    pub revision: i64,
    pub definition: Definition,
    /// Since when it is active: launched, or resumed.
    pub since: Timestamp,
}

impl State {
    /// That of a new campaign.
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
    /// What makes it send.
    pub fn kind(&self) -> Kind {
        match (self.channel, self.send_type) {
            (CampaignChannel::InApp, _) => Kind::InApp,
            (_, SendType::Triggered) => Kind::Triggered,
            (_, SendType::Recurring) => Kind::Recurring,
            _ => Kind::OneTime,
        }
    }

    /// The time it is scheduled for, if it is.
    pub fn scheduled_for(&self) -> Option<Timestamp> {
        self.scheduled_at.filter(|_| self.send_type == SendType::Scheduled)
    }
}

impl Campaign {
    /// What its transitions depend on.
    pub fn standing(&self, now: Timestamp) -> Standing {
        Standing {
            status: self.state.status,
            kind: self.definition.kind(),
            paused_from: self.state.paused_from,
            archived_from: self.state.archived_from,
            is_ahead: self.definition.scheduled_for().is_some_and(|at| at > now),
        }
    }

    /// Whether its channel and what makes it send are settled: it is, or was, under way.
    pub fn is_under_way(&self) -> bool {
        let state = &self.state;
        state.ran
            || state.status == Status::Active
            || state.status == Status::Paused && state.paused_from == Some(Status::Active)
    }

    /// What a call makes of it. Of a call that leaves it where it is, itself.
    ///
    /// # Errors
    /// The refusal of the state machine.
    pub fn moved(&self, call: Call, now: Timestamp) -> Result<Self, Refusal> {
        let from = self.state.status;
        let to = next(&self.standing(now), call)?;
        let mut moved = self.clone();
        if to == from && call != Call::Unarchive {
            return Ok(moved);
        }
        let state = &mut moved.state;
        state.status = to;
        state.next_send_at = match (call, to) {
            (Call::Retry, _) => Some(now),
            _ => timing::next_send_at(&self.definition, (to, self.state.occurrence), now),
        };
        match to {
            Status::Active => {
                state.started_at.get_or_insert(now);
                state.ran = true;
                state.completed_at = None;
                if call == Call::Resend
                    || state.occurrence == 0 && self.definition.kind() == Kind::OneTime
                {
                    state.occurrence = state.occurrence.saturating_add(1);
                }
            }
            Status::Paused if call == Call::Pause => state.paused_from = Some(from),
            Status::Paused => {
                // Taken out of the archive: it goes on with what it was, or was paused from.
                let before = state.archived_from.filter(|before| *before != Status::Paused);
                state.paused_from = before.or(state.paused_from);
            }
            Status::Completed if call != Call::Unarchive => state.completed_at = Some(now),
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
            moved.pending_draft = None;
        }
        Ok(moved)
    }

    /// What ends it, with the reason that is shown.
    ///
    /// # Errors
    /// The refusal of the state machine.
    pub fn failed(&self, reason: impl Into<String>, now: Timestamp) -> Result<Self, Refusal> {
        let mut failed = self.moved(Call::Fail, now)?;
        failed.state.failure_reason = Some(reason.into());
        Ok(failed)
    }
}
