//! Reports on a message after it was sent, by providers, mail servers and recipients, in one form.

use ingest::record::MessageKind;
use kernel::Timestamp;

use super::{Callback, Effect, Happened};

/// Characters of a provider's text that are stored.
const TEXT_CHARS_MAX: usize = 500;
/// Characters of a provider's code that are stored.
const CODE_CHARS_MAX: usize = 64;

/// One report on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The name of the provider or protocol that reports: `twilio`, `ses`, `dsn`.
    pub source: &'static str,
    /// The source's own id of the report, the same when it is repeated; empty for what happens to a message at
    /// most once.
    pub event: String,
    /// When it happened, where the source says so; otherwise the time it was received.
    pub at: Option<Timestamp>,
    pub kind: FeedbackKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedbackKind {
    Delivered,
    /// The recipient saw it.
    Read,
    /// It is late; the sender still tries.
    Deferred(FeedbackReason),
    /// It will not arrive; the address may still be valid.
    Failed(FeedbackReason),
    /// The address refused it.
    Bounced {
        kind: BounceKind,
        reason: FeedbackReason,
        address: AddressClaim,
    },
    /// The recipient reported it as spam.
    Complained {
        reason: FeedbackReason,
        address: AddressClaim,
    },
    /// The recipient unsubscribed from this channel.
    Unsubscribed {
        /// Where they unsubscribed: a source of the history.
        source: &'static str,
    },
}

/// Which address a report is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressClaim {
    /// The recipient's present address.
    Recipient,
    /// This one: the source is authenticated.
    Named(String),
    /// One of these, by an unauthenticated source (returned mail). Applied only where it is the recipient's present
    /// address: an address cannot be suppressed without mail to it, nor a new address for one that bounced.
    Claimed(Vec<String>),
}

/// A provider's code and text for a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedbackReason {
    /// The code: `5.1.1`, `30003`, `abuse`.
    pub code: String,
    /// The text, in one line.
    pub text: String,
}

impl FeedbackReason {
    /// In one line, without control characters, cut to the stored length.
    pub fn new(code: &str, text: &str) -> Self {
        Self { code: line(code, CODE_CHARS_MAX), text: line(text, TEXT_CHARS_MAX) }
    }
}

fn line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if !word.is_empty() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    line.chars().take(chars_max).collect()
}

/// How permanently an address refused a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BounceKind {
    /// It does not exist.
    Hard,
    /// The address exists, and refused this time: full, blocked, busy.
    Soft,
}

impl BounceKind {
    /// The kind as reports name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
        }
    }
}

impl FeedbackKind {
    /// The kind of message event that records it.
    pub const fn message_kind(&self) -> MessageKind {
        match self {
            Self::Delivered => MessageKind::Delivered,
            Self::Read => MessageKind::Opened,
            Self::Deferred(_) => MessageKind::Deferred,
            Self::Failed(_) => MessageKind::Failed,
            Self::Bounced { .. } => MessageKind::Bounced,
            Self::Complained { .. } => MessageKind::Complained,
            Self::Unsubscribed { .. } => MessageKind::Unsubscribed,
        }
    }

    /// Code, reason and label of the message event that records it.
    pub fn details(&self) -> (&str, &str, &'static str) {
        match self {
            Self::Delivered | Self::Read => ("", "", ""),
            Self::Deferred(reason) | Self::Failed(reason) | Self::Complained { reason, .. } => {
                (&reason.code, &reason.text, "")
            }
            Self::Bounced { kind, reason, .. } => (&reason.code, &reason.text, kind.as_str()),
            Self::Unsubscribed { source } => ("", source, ""),
        }
    }

    /// Whether it changes consent or the ledgers.
    pub const fn changes_consent(&self) -> bool {
        matches!(self, Self::Bounced { .. } | Self::Complained { .. } | Self::Unsubscribed { .. })
    }

    /// Whether it can happen to a message more than once.
    pub const fn repeats(&self) -> bool {
        matches!(
            self,
            Self::Deferred(_)
                | Self::Bounced { kind: BounceKind::Soft, .. }
                | Self::Unsubscribed { .. }
        )
    }
}

impl Feedback {
    /// An id by which a repeat is recognised; empty for what happens to a message at most once.
    pub fn event_id(&self) -> String {
        // A message is read as often as a source says so by ids of its own, as its picture is loaded.
        let is_another_read = matches!(self.kind, FeedbackKind::Read) && !self.event.is_empty();
        if !self.kind.repeats() && !is_another_read {
            return String::new();
        }
        // A source without ids is taken to repeat a report if the code is the same.
        let own = if self.event.is_empty() { self.kind.details().0 } else { &self.event };
        format!("{}:{own}", self.source)
    }

    /// The effect of a refused message on its recipient.
    pub fn of_effect(source: &'static str, effect: &Effect, reason: FeedbackReason) -> Self {
        let kind = match effect {
            Effect::HardBounce => FeedbackKind::Bounced {
                kind: BounceKind::Hard,
                reason,
                address: AddressClaim::Recipient,
            },
            Effect::SoftBounce => FeedbackKind::Bounced {
                kind: BounceKind::Soft,
                reason,
                address: AddressClaim::Recipient,
            },
            Effect::Unsubscribed => FeedbackKind::Unsubscribed { source: "provider" },
        };
        Self { source, event: String::new(), at: None, kind }
    }

    /// One report or two of a callback; none for `sent`, which is recorded when the provider accepts the message.
    pub fn of_callback(source: &'static str, callback: Callback) -> Vec<Self> {
        let at = callback.at;
        let of = |kind| Self { source, event: String::new(), at, kind };
        match callback.happened {
            Happened::Sent => Vec::new(),
            Happened::Delivered => vec![of(FeedbackKind::Delivered)],
            Happened::Read => vec![of(FeedbackKind::Read)],
            Happened::Failed { code, reason, effect } => {
                let reason = FeedbackReason::new(&code, &reason);
                let mut parts = vec![of(FeedbackKind::Failed(reason.clone()))];
                parts.extend(
                    effect.map(|effect| Self { at, ..Self::of_effect(source, &effect, reason) }),
                );
                parts
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_one_line_of_a_bounded_length() {
        let reason = FeedbackReason::new(" 5.1.1\r\n", "550 no\r\n such\0user\t here ");
        assert_eq!(
            reason,
            FeedbackReason { code: "5.1.1".into(), text: "550 no such user here".into() }
        );
        let long = FeedbackReason::new(&"c".repeat(65), &"ä".repeat(501));
        assert_eq!((long.code.len(), long.text.chars().count()), (64, 500));
    }

    #[test]
    fn a_refusal_with_an_effect_on_the_recipient_is_two_reports() {
        let callback =
            |happened| Callback { provider_id: "SM1".into(), reference: None, happened, at: None };
        let kinds = |happened| {
            let parts = Feedback::of_callback("twilio", callback(happened));
            parts.iter().map(|part| part.kind.message_kind().as_str()).collect::<Vec<_>>()
        };
        let failed = |effect| Happened::Failed { code: "21610".into(), reason: "x".into(), effect };
        assert_eq!(kinds(failed(Some(Effect::Unsubscribed))), ["failed", "unsubscribed"]);
        assert_eq!(kinds(failed(Some(Effect::HardBounce))), ["failed", "bounced"]);
        assert_eq!(kinds(failed(None)), ["failed"]);
        assert_eq!(kinds(Happened::Read), ["opened"]);
        assert_eq!(kinds(Happened::Sent), [""; 0]);
    }
}
