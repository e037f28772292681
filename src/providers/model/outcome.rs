//! The result of handing a message to a provider.

use std::time::Duration;

/// The result of handing one message to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It took the message.
    Accepted {
        /// The provider's own id of it, by which callbacks name it.
        provider_id: Option<String>,
        /// Whether the provider's answer is already the delivery (a webhook's 2xx, FCM's and APNs' 200,
        /// plain SMTP's 250).
        is_delivered: bool,
    },
    Retry {
        /// The provider's code, or ours: `timeout`, `connection`, `429`, `4.2.0`.
        code: String,
        /// The provider's text, cut to a line.
        reason: String,
        /// The time to wait that the provider asks for (`Retry-After`).
        after: Option<Duration>,
    },
    Rejected {
        /// The provider's code: `5.1.1`, `21610`, `UNREGISTERED`, `404`.
        code: String,
        /// The provider's text, cut to a line.
        reason: String,
        /// What it means for the recipient.
        effect: Option<Effect>,
    },
    /// The call was cut off after the message may have been taken: it is not sent again.
    Unknown { reason: String },
}

impl Outcome {
    /// The effect on the recipient after the last attempt: that of a refusal, or a soft bounce if the mailbox
    /// accepted nothing until then (RFC 3463 x.2.1 to x.2.4).
    pub fn final_effect(&self) -> Option<&Effect> {
        match self {
            Self::Rejected { effect, .. } => effect.as_ref(),
            Self::Retry { code, .. } if MAILBOX_CODES.contains(&code.as_str()) => {
                Some(&Effect::SoftBounce)
            }
            _ => None,
        }
    }

    /// The provider's code and text, if it did not accept the message.
    pub fn failure(&self) -> Option<(&str, &str)> {
        match self {
            Self::Retry { code, reason, .. } | Self::Rejected { code, reason, .. } => {
                Some((code, reason))
            }
            Self::Accepted { .. } | Self::Unknown { .. } => None,
        }
    }
}

/// Codes of a mailbox that exists and accepts nothing now.
const MAILBOX_CODES: [&str; 4] = ["4.2.1", "4.2.2", "4.2.3", "4.2.4"];

/// What a refusal means for the recipient's consent or address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The address does not exist: a hard bounce.
    HardBounce,
    /// The address exists and accepts nothing now: a soft bounce.
    SoftBounce,
    /// The recipient opted out at the provider: an opt-out of the channel.
    Unsubscribed,
}

/// Characters of a provider's text that are stored.
const REASON_CHARS_MAX: usize = 300;

/// A provider's text in one line of bounded length.
pub fn cut_to_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // Characters are counted once it may matter: they are never more than bytes.
        if line.len() > REASON_CHARS_MAX {
            break;
        }
    }
    match line.char_indices().nth(REASON_CHARS_MAX) {
        Some((end, _)) => line.get(..end).unwrap_or_default().trim_end().to_owned(),
        None => line,
    }
}
