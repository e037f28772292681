//! What providers, mail servers and recipients report of a message after it was sent, in one form.

use ingest::record::MessageKind;
use kernel::Timestamp;

use super::{Callback, Effect, Happened};

/// Characters of a provider's words that are kept.
const REASON_CHARS_MAX: usize = 500;
/// Characters of a provider's code that are kept.
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
    pub heard: FeedbackKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedbackKind {
    Delivered,
    /// The recipient saw it.
    Read,
    /// It is late; it is being tried further.
    Deferred(FeedbackReason),
    /// It will not arrive, which says nothing about the address.
    Failed(FeedbackReason),
    /// The address refused it.
    Bounced {
        kind: BounceKind,
        why: FeedbackReason,
        whose: AddressClaim,
    },
    /// The recipient called it spam.
    Complained {
        why: FeedbackReason,
        whose: AddressClaim,
    },
    /// The recipient unsubscribed from this channel.
    Unsubscribed {
        /// Where they said so: a source of the history.
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
    /// The text, one line.
    pub reason: String,
}

impl FeedbackReason {
    /// Cut to what is kept, in one line, without control characters.
    pub fn new(code: &str, reason: &str) -> Self {
        Self { code: line(code, CODE_CHARS_MAX), reason: line(reason, REASON_CHARS_MAX) }
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

/// How an address refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BounceKind {
    /// It does not exist.
    Hard,
    /// Not this time: full, blocked, busy.
    Soft,
}

impl BounceKind {
    /// The kind as it is told.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
        }
    }
}

impl FeedbackKind {
    /// The kind of message event it is told as.
    pub const fn kind(&self) -> MessageKind {
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

    /// Code, words and label of the message event it is told as.
    pub fn words(&self) -> (&str, &str, &'static str) {
        match self {
            Self::Delivered | Self::Read => ("", "", ""),
            Self::Deferred(why) | Self::Failed(why) | Self::Complained { why, .. } => {
                (&why.code, &why.reason, "")
            }
            Self::Bounced { kind, why, .. } => (&why.code, &why.reason, kind.as_str()),
            Self::Unsubscribed { source } => ("", source, ""),
        }
    }

    /// Whether it changes consent or the ledgers.
    pub const fn acts(&self) -> bool {
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
    /// An id of its own in reports and against repeats; empty for what happens to a message at most once.
    pub fn event_id(&self) -> String {
        if !self.heard.repeats() {
            return String::new();
        }
        // Who gives his reports no ids is taken to repeat himself where he says the same.
        let own = if self.event.is_empty() { self.heard.words().0 } else { &self.event };
        format!("{}:{own}", self.source)
    }

    /// What a provider's refusal of a message says about its recipient.
    pub fn of_effect(source: &'static str, effect: &Effect, why: FeedbackReason) -> Self {
        let heard = match effect {
            Effect::HardBounce => FeedbackKind::Bounced {
                kind: BounceKind::Hard,
                why,
                whose: AddressClaim::Recipient,
            },
            Effect::SoftBounce => FeedbackKind::Bounced {
                kind: BounceKind::Soft,
                why,
                whose: AddressClaim::Recipient,
            },
            Effect::Unsubscribed => FeedbackKind::Unsubscribed { source: "provider" },
        };
        Self { source, event: String::new(), at: None, heard }
    }

    /// What a callback says, in one or two parts; a provider's `sent` says nothing that was not known.
    pub fn of_callback(source: &'static str, callback: Callback) -> Vec<Self> {
        let at = callback.at;
        let of = |heard| Self { source, event: String::new(), at, heard };
        match callback.happened {
            Happened::Sent => Vec::new(),
            Happened::Delivered => vec![of(FeedbackKind::Delivered)],
            Happened::Read => vec![of(FeedbackKind::Read)],
            Happened::Failed { code, reason, effect } => {
                let why = FeedbackReason::new(&code, &reason);
                let mut parts = vec![of(FeedbackKind::Failed(why.clone()))];
                parts.extend(
                    effect.map(|effect| Self { at, ..Self::of_effect(source, &effect, why) }),
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
    fn words_are_one_line_of_a_bounded_length() {
        let why = FeedbackReason::new(" 5.1.1\r\n", "550 no\r\n such\0user\t here ");
        assert_eq!(
            why,
            FeedbackReason { code: "5.1.1".into(), reason: "550 no such user here".into() }
        );
        let long = FeedbackReason::new(&"c".repeat(65), &"ä".repeat(501));
        assert_eq!((long.code.len(), long.reason.chars().count()), (64, 500));
    }

    #[test]
    fn a_refusal_that_says_something_about_the_recipient_is_told_twice() {
        let callback =
            |happened| Callback { provider_id: "SM1".into(), reference: None, happened, at: None };
        let kinds = |happened| {
            let parts = Feedback::of_callback("twilio", callback(happened));
            parts.iter().map(|part| part.heard.kind().as_str()).collect::<Vec<_>>()
        };
        let failed = |effect| Happened::Failed { code: "21610".into(), reason: "x".into(), effect };
        assert_eq!(kinds(failed(Some(Effect::Unsubscribed))), ["failed", "unsubscribed"]);
        assert_eq!(kinds(failed(Some(Effect::HardBounce))), ["failed", "bounced"]);
        assert_eq!(kinds(failed(None)), ["failed"]);
        assert_eq!(kinds(Happened::Read), ["opened"]);
        assert_eq!(kinds(Happened::Sent), [""; 0]);
    }
}
