//! The status of a campaign, and the table of its transitions.

use kernel::Error;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Draft,
    /// Waits for its time.
    Scheduled,
    /// Sending, or waiting for its trigger or next occurrence.
    Active,
    /// Halted until it is resumed.
    Paused,
    /// All messages are completed.
    Completed,
    Cancelled,
    /// Archived; its history stays.
    Archived,
    /// Ended by a permanent fault; see `failureReason`.
    Failed,
}

impl Status {
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

/// How a campaign is started, as far as its status is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignKind {
    /// Once, to its audience; it completes when all messages are done.
    OneTime,
    /// At an event of a profile.
    Triggered,
    Recurring,
    /// By requests of apps.
    InApp,
}

impl CampaignKind {
    /// Whether it stays live, so that changes go into a pending draft.
    pub const fn stays_live(self) -> bool {
        !matches!(self, Self::OneTime)
    }
}

/// A call that changes the status of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `status: scheduled` of a draft.
    Schedule,
    /// `status: draft` of a scheduled campaign, or a change that removes its time.
    Unschedule,
    /// Launched now, whatever its schedule.
    Send,
    /// Launched at its scheduled time.
    Launch,
    Pause,
    Resume,
    Cancel,
    Complete,
    Fail,
    /// Sent again after a failure.
    Retry,
    /// Sent again after its completion.
    Resend,
    StopRecurring,
    Archive,
    /// Restored from the archive, without sending.
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

    /// The label in metrics.
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

    /// The campaigns that the call is for, in its refusal.
    const fn required(self) -> &'static str {
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
pub struct TransitionContext {
    pub status: Status,
    /// How the campaign is started.
    pub kind: CampaignKind,
    /// The status that `resume` returns to.
    pub paused_from: Option<Status>,
    /// The status before archiving.
    pub archived_from: Option<Status>,
    /// Whether its scheduled time is in the future.
    pub is_ahead: bool,
}

/// Why a transition is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The status does not allow the call; it may at another time.
    Conflict(String),
    /// The call is for another kind of campaign.
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

/// The status after a call: the whole state machine.
///
/// # Errors
/// The refusal, in words for the caller.
pub fn next(context: &TransitionContext, call: Call) -> Result<Status, Refusal> {
    use Status::{Active, Archived, Cancelled, Completed, Draft, Failed, Paused, Scheduled};
    let (kind, status) = (context.kind, context.status);
    match (call, status) {
        (Call::Resend, _) if kind != CampaignKind::OneTime => Err(Refusal::Unfit(
            "A triggered, recurring or in-app campaign cannot be sent again".to_owned(),
        )),
        (Call::StopRecurring, _) if kind != CampaignKind::Recurring => {
            Err(Refusal::Unfit("The campaign is not recurring".to_owned()))
        }
        (Call::Complete, Active)
            if matches!(kind, CampaignKind::Triggered | CampaignKind::InApp) =>
        {
            Err(refusal(status, call))
        }
        (Call::Schedule, Draft) | (Call::Retry, Failed) => Ok(Scheduled),
        (Call::Unschedule, Scheduled) => Ok(Draft),
        (Call::Send, Draft | Scheduled) | (Call::Launch, Scheduled) | (Call::Resend, Completed) => {
            Ok(Active)
        }
        (Call::Pause, Active | Scheduled) => Ok(Paused),
        (Call::Resume, Paused) => {
            let waits = context.paused_from == Some(Scheduled) && context.is_ahead;
            Ok(if waits { Scheduled } else { Active })
        }
        (Call::Cancel, Scheduled | Active | Paused) => Ok(Cancelled),
        (Call::Complete, Active) | (Call::StopRecurring, Active | Paused) => Ok(Completed),
        (Call::Fail, Scheduled | Active) => Ok(Failed),
        (Call::Archive, _) => Ok(Archived),
        (Call::Unarchive, Archived) => Ok(match context.archived_from {
            Some(Scheduled | Active | Paused) => Paused,
            Some(before) => before,
            None => Draft,
        }),
        // The API defines a bad request, not a conflict, for a campaign that has not finished.
        (Call::Resend, _) => Err(Refusal::Unfit(words(status, call))),
        _ => Err(refusal(status, call)),
    }
}

fn refusal(status: Status, call: Call) -> Refusal {
    Refusal::Conflict(words(status, call))
}

fn words(status: Status, call: Call) -> String {
    format!("The campaign is {}: {}", status.as_str(), call.required())
}

#[cfg(test)]
mod tests;
