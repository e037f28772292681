//! Where a campaign stands, and the one table of what may become of it (DECISIONS K1).

use kernel::Error;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The states of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Draft,
    /// Waits for its time.
    Scheduled,
    /// Sending, or waiting for what makes it send.
    Active,
    /// Halted until it is resumed.
    Paused,
    /// Everything it had to send is settled.
    Completed,
    /// Called off for good.
    Cancelled,
    /// Put away; its history stays.
    Archived,
    /// Ended by a fault that waiting would not mend; see `failureReason`.
    Failed,
}

impl Status {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("draft", Self::Draft),
        ("scheduled", Self::Scheduled),
        ("active", Self::Active),
        ("paused", Self::Paused),
        ("completed", Self::Completed),
        ("cancelled", Self::Cancelled),
        ("archived", Self::Archived),
        ("failed", Self::Failed),
    ];

    /// The status as the API and the store write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Archived => "archived",
            Self::Failed => "failed",
        }
    }
}

/// What makes a campaign send, as far as its states are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Once, to its audience; it completes when everybody is settled.
    OneTime,
    /// Whenever an event comes in.
    Triggered,
    Recurring,
    /// Whenever an app asks.
    InApp,
}

impl Kind {
    /// Whether it goes on being live, so that what it says can be changed meanwhile: by way of a draft.
    pub const fn stays_live(self) -> bool {
        !matches!(self, Self::OneTime)
    }
}

/// What can be asked of a campaign that moves it from state to state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `status: scheduled` of a draft.
    Schedule,
    /// `status: draft` of a scheduled campaign, or a change that takes its time away.
    Unschedule,
    /// Launch now, whatever the clock says.
    Send,
    /// Its time has come.
    Launch,
    Pause,
    Resume,
    Cancel,
    Complete,
    /// It cannot go on.
    Fail,
    /// Once more after a failure.
    Retry,
    /// Once more after its completion.
    Resend,
    StopRecurring,
    Archive,
    /// Take out again, without sending.
    Unarchive,
}

impl Call {
    pub const ALL: [Self; 14] = [
        Self::Schedule,
        Self::Unschedule,
        Self::Send,
        Self::Launch,
        Self::Pause,
        Self::Resume,
        Self::Cancel,
        Self::Complete,
        Self::Fail,
        Self::Retry,
        Self::Resend,
        Self::StopRecurring,
        Self::Archive,
        Self::Unarchive,
    ];

    /// The call in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Unschedule => "unschedule",
            Self::Send => "send",
            Self::Launch => "launch",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Complete => "complete",
            Self::Fail => "fail",
            Self::Retry => "retry",
            Self::Resend => "resend",
            Self::StopRecurring => "stop_recurring",
            Self::Archive => "archive",
            Self::Unarchive => "unarchive",
        }
    }

    /// Which campaigns it is for, for those who ask it of another.
    const fn wants(self) -> &'static str {
        match self {
            Self::Schedule => "only a draft can be scheduled",
            Self::Unschedule => "only a scheduled campaign can become a draft",
            Self::Launch => "only a scheduled campaign waits for its time",
            Self::Send => "only a draft or a scheduled campaign can be sent",
            Self::Pause => "only an active or a scheduled campaign can be paused",
            Self::Resume => "only a paused campaign can be resumed",
            Self::Cancel => "only a scheduled, active or paused campaign can be cancelled",
            Self::Complete => "only an active campaign can complete",
            Self::Fail => "only a scheduled or an active campaign can fail",
            Self::Retry => "only a failed campaign can be retried",
            Self::Resend => "only one that has finished sending can be sent again",
            Self::StopRecurring => "only an active or a paused campaign can be stopped",
            Self::Archive | Self::Unarchive => "only an archived campaign can be unarchived",
        }
    }
}

/// What a transition depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub status: Status,
    /// What makes it send.
    pub kind: Kind,
    /// What a paused one goes on with.
    pub paused_from: Option<Status>,
    /// What an archived one was.
    pub archived_from: Option<Status>,
    /// Whether its scheduled time is still to come.
    pub is_ahead: bool,
}

/// Why a transition is not to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It does not stand where the call needs it; it may at another time.
    Conflict(String),
    /// It is not of the kind the call is for.
    Unfit(String),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Conflict(text) => Self::Conflict(text),
            Refusal::Unfit(text) => Self::bad_request(text),
        }
    }
}

/// Where a call leads: the whole state machine.
///
/// # Errors
/// The refusal, in words for the caller.
pub fn next(standing: &Standing, call: Call) -> Result<Status, Refusal> {
    use Status::{Active, Archived, Cancelled, Completed, Draft, Failed, Paused, Scheduled};
    let (kind, status) = (standing.kind, standing.status);
    match (call, status) {
        (Call::Resend, _) if kind != Kind::OneTime => Err(Refusal::Unfit(
            "A triggered, recurring or in-app campaign cannot be sent again".to_owned(),
        )),
        (Call::StopRecurring, _) if kind != Kind::Recurring => {
            Err(Refusal::Unfit("The campaign is not recurring".to_owned()))
        }
        (Call::Complete, Active) if matches!(kind, Kind::Triggered | Kind::InApp) => {
            Err(refusal(status, call))
        }
        (Call::Schedule, Draft) | (Call::Retry, Failed) => Ok(Scheduled),
        (Call::Unschedule, Scheduled) => Ok(Draft),
        (Call::Send, Draft | Scheduled) | (Call::Launch, Scheduled) | (Call::Resend, Completed) => {
            Ok(Active)
        }
        (Call::Pause, Active | Scheduled) => Ok(Paused),
        (Call::Resume, Paused) => {
            let waits = standing.paused_from == Some(Scheduled) && standing.is_ahead;
            Ok(if waits { Scheduled } else { Active })
        }
        (Call::Cancel, Scheduled | Active | Paused) => Ok(Cancelled),
        (Call::Complete, Active) | (Call::StopRecurring, Active | Paused) => Ok(Completed),
        (Call::Fail, Scheduled | Active) => Ok(Failed),
        (Call::Archive, _) => Ok(Archived),
        (Call::Unarchive, Archived) => Ok(match standing.archived_from {
            Some(Scheduled | Active | Paused) => Paused,
            Some(before) => before,
            None => Draft,
        }),
        // By the specification a campaign that has not finished is a bad request, not a conflict.
        (Call::Resend, _) => Err(Refusal::Unfit(words(status, call))),
        _ => Err(refusal(status, call)),
    }
}

fn refusal(status: Status, call: Call) -> Refusal {
    Refusal::Conflict(words(status, call))
}

fn words(status: Status, call: Call) -> String {
    format!("The campaign is {}: {}", status.as_str(), call.wants())
}

#[cfg(test)]
mod tests;
