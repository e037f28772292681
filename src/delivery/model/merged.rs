//! One message of a campaign for one person, also when two profiles of theirs were in its audience before a merge.

/// How far another message to the same person came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentState {
    /// It is queued, due or not.
    Waiting,
    /// It is on its way to the provider.
    Leaving,
    /// It left, or may have.
    Left,
    /// It did not leave and will not.
    Ended,
}

impl SentState {
    /// The state of a status as the database writes it.
    pub fn of_status(status: &str) -> Option<Self> {
        Some(match status {
            "queued" => Self::Waiting,
            "sending" => Self::Leaving,
            "sent" | "unknown" => Self::Left,
            "failed" | "skipped" | "cancelled" | "control" => Self::Ended,
            _ => return None,
        })
    }
}

/// A message to the same person by the same occurrence of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sibling {
    /// Whether it is to the survivor, and not to a merged profile.
    pub is_of_survivor: bool,
    pub state: SentState,
}

/// What becomes of a message that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergedDecision {
    /// It is sent, to the survivor.
    Send,
    /// Another message to the person left, or will.
    Skip,
    /// Another message to the person is on its way; what becomes of it decides.
    Wait,
}

/// Decides about a message to the survivor (`is_of_survivor`) or to a merged profile. Of messages that wait, that of the
/// survivor is sent, else the first that is due.
pub fn decide(is_of_survivor: bool, siblings: &[Sibling]) -> MergedDecision {
    let any = |state| siblings.iter().any(|sibling| sibling.state == state);
    if any(SentState::Left) {
        MergedDecision::Skip
    } else if any(SentState::Leaving) {
        MergedDecision::Wait
    } else if !is_of_survivor
        && siblings.iter().any(|it| it.is_of_survivor && it.state == SentState::Waiting)
    {
        MergedDecision::Skip
    } else {
        MergedDecision::Send
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_messages_to_a_person_leaves() {
        use MergedDecision::{Send, Skip, Wait};
        let of = |is_of_survivor, state| Sibling { is_of_survivor, state };
        for (is_of_survivor, siblings, expected) in [
            (true, vec![], Send),
            (false, vec![], Send),
            (true, vec![of(false, SentState::Waiting)], Send),
            (false, vec![of(true, SentState::Waiting)], Skip),
            (false, vec![of(false, SentState::Waiting)], Send),
            (true, vec![of(false, SentState::Leaving)], Wait),
            (false, vec![of(true, SentState::Leaving)], Wait),
            (true, vec![of(false, SentState::Left)], Skip),
            (false, vec![of(false, SentState::Ended), of(true, SentState::Left)], Skip),
            (true, vec![of(false, SentState::Ended)], Send),
            (false, vec![of(true, SentState::Ended)], Send),
        ] {
            assert_eq!(
                decide(is_of_survivor, &siblings),
                expected,
                "{is_of_survivor} {siblings:?}"
            );
        }
    }

    #[test]
    fn every_status_of_the_database_is_known() {
        for status in
            ["queued", "sending", "sent", "failed", "skipped", "cancelled", "control", "unknown"]
        {
            assert!(SentState::of_status(status).is_some(), "{status}");
        }
        assert_eq!(SentState::of_status("Sent"), None);
    }
}
