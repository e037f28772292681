//! The outcome of a message by a mail server's reply.

use crate::model::{Effect, Outcome, cut_to_line};

/// A refusal: its code, and its words without the line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    pub(super) text: String,
}

/// Where in the conversation a reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// After the sender was named.
    Sender,
    /// After the recipient was named.
    Recipient,
    /// `DATA` or the message itself.
    Message,
}

impl Reply {
    /// The outcome of the message: a 4xx is tried again, a 5xx is final. The address counts as invalid only by a code
    /// that means the recipient's address, not the sender's (RFC 3463 x.1.7, x.1.8). A full mailbox (x.2.2) and a
    /// policy against the message (x.7.1) are soft bounces, as in a later report.
    pub(super) fn outcome(&self, step: Step) -> Outcome {
        let enhanced = enhanced(&self.text);
        let code = enhanced.map_or_else(
            || self.code.to_string(),
            |(class, subject, detail)| format!("{class}.{subject}.{detail}"),
        );
        let reason = cut_to_line(&self.text);
        if self.code < 500 {
            return Outcome::Retry { code, reason, after: None };
        }
        let effect = match (step, enhanced) {
            (Step::Sender, _) | (_, Some((5, 1, 7 | 8))) => None,
            (_, Some((5, 1, _) | (5, 2, 0 | 1))) => Some(Effect::HardBounce),
            (_, Some((5, 2, 2..=4) | (5, 7, 1))) => Some(Effect::SoftBounce),
            // Without an enhanced code only the mailbox's own refusals are about the mailbox.
            (Step::Recipient, None) => match self.code {
                550 | 551 | 553 => Some(Effect::HardBounce),
                552 => Some(Effect::SoftBounce),
                _ => None,
            },
            _ => None,
        };
        Outcome::Rejected { code, reason, effect }
    }
}

/// The enhanced code a reply begins with: RFC 2034, RFC 3463 2.
fn enhanced(text: &str) -> Option<(u16, u16, u16)> {
    let word = text.split_whitespace().next()?;
    let mut parts = word.split('.').map(|part| {
        let is_number = (1..=3).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit());
        is_number.then(|| part.parse().ok())?
    });
    let found = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && matches!(found.0, 2 | 4 | 5)).then_some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn outcomes_follow_the_codes() {
        use Step::{Message, Recipient, Sender};
        enum Meaning {
            Again,
            Never,
            Bounce,
            Soft,
        }
        use Meaning::{Again, Bounce, Never, Soft};
        let table = [
            (421, "4.7.0 Try again later", Message, "4.7.0", Again),
            (450, "4.2.0 Greylisted", Recipient, "4.2.0", Again),
            (451, "local error", Recipient, "451", Again),
            (452, "4.2.2 Mailbox full", Recipient, "4.2.2", Again),
            (550, "5.1.1 No such user", Recipient, "5.1.1", Bounce),
            (550, "5.1.10 Null MX", Recipient, "5.1.10", Bounce),
            (550, "5.1.1 No such user", Message, "5.1.1", Bounce),
            (550, "5.2.1 Mailbox disabled", Recipient, "5.2.1", Bounce),
            (550, "No such user", Recipient, "550", Bounce),
            (551, "User not local", Recipient, "551", Bounce),
            (553, "Mailbox name not allowed", Recipient, "553", Bounce),
            (552, "5.2.2 Mailbox full", Recipient, "5.2.2", Soft),
            (552, "Exceeded storage allocation", Recipient, "552", Soft),
            (550, "5.7.1 Blocked by policy", Recipient, "5.7.1", Soft),
            (554, "5.7.26 Unauthenticated", Message, "5.7.26", Never),
            (554, "Transaction failed", Message, "554", Never),
            (550, "Spam", Message, "550", Never),
            (550, "5.1.8 Sender's domain does not exist", Recipient, "5.1.8", Never),
            (550, "5.1.7 Bad sender", Recipient, "5.1.7", Never),
            (550, "5.1.1 Sender unknown", Sender, "5.1.1", Never),
            (501, "5.5.4 Syntax", Recipient, "5.5.4", Never),
            (550, "5.4.1 Recipient address rejected: Access denied", Recipient, "5.4.1", Never),
            (550, "5.1.1.1 odd", Recipient, "550", Bounce),
            (550, "", Recipient, "550", Bounce),
        ];
        for (code, text, step, expected, meaning) in table {
            let outcome = Reply { code, text: text.to_owned() }.outcome(step);
            let (code, is_as_meant) = match &outcome {
                Outcome::Retry { code, .. } => (code, matches!(meaning, Again)),
                Outcome::Rejected { code, effect: None, .. } => (code, matches!(meaning, Never)),
                Outcome::Rejected { code, effect: Some(Effect::HardBounce), .. } => {
                    (code, matches!(meaning, Bounce))
                }
                Outcome::Rejected { code, effect: Some(Effect::SoftBounce), .. } => {
                    (code, matches!(meaning, Soft))
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(code, expected, "{text}");
            assert!(is_as_meant, "{text}: {outcome:?}");
        }
    }

    proptest! {
        #[test]
        fn no_reply_breaks_its_reading(code in 400_u16..600, text in "[\\PC\r\n.0-9]{0,600}") {
            let outcome = Reply { code, text }.outcome(Step::Recipient);
            let (Outcome::Retry { reason, .. } | Outcome::Rejected { reason, .. }) = outcome else {
                panic!("a refusal is no acceptance")
            };
            prop_assert!(!reason.contains(['\r', '\n']));
        }
    }
}
