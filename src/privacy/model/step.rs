//! The steps of an erasure.

/// What an erasure does next. Each step may be repeated from its beginning, so a kill at any time changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Lists the identifiers, ends the profile, so that no message is made for it any more, and deletes queued messages.
    Identify,
    /// Waits for messages that providers have.
    Sends,
    /// Waits until every spool is past what was in it, and removes those files and dead letters. From here on everything that
    /// was accepted before is in the stores.
    Files,
    /// Deletes the rows in PostgreSQL; opt-outs stay as hashes.
    Rows,
    /// Waits for copies of PostgreSQL in ClickHouse: none is written later.
    Copies,
    /// Deletes the rows in ClickHouse; their keys stay as hashes.
    Events,
    /// Forgets the identifiers of the person.
    Forget,
    /// Rewrites the files of the stores that had the rows.
    Rewrite,
}

/// The names of the steps in the database, in their order.
pub const STEPS: &[(&str, Step)] = &[
    ("identify", Step::Identify),
    ("sends", Step::Sends),
    ("files", Step::Files),
    ("rows", Step::Rows),
    ("copies", Step::Copies),
    ("events", Step::Events),
    ("forget", Step::Forget),
    ("rewrite", Step::Rewrite),
];

impl Step {
    /// Its name in the database.
    pub fn as_str(self) -> &'static str {
        kernel::fields::word_for(STEPS, self)
    }

    /// The step with this name.
    pub fn named(name: &str) -> Option<Self> {
        STEPS.iter().find(|(word, _)| *word == name).map(|(_, step)| *step)
    }

    /// The one after it; none after the last.
    pub fn next(self) -> Option<Self> {
        STEPS.iter().map(|(_, step)| *step).find(|step| *step > self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_one_another_to_the_end() {
        let mut steps = vec![Step::Identify];
        while let Some(next) = steps[steps.len() - 1].next() {
            steps.push(next);
        }
        assert_eq!(steps, STEPS.iter().map(|(_, step)| *step).collect::<Vec<_>>());
        assert_eq!(Step::named("rows"), Some(Step::Rows));
        assert_eq!(Step::named("row"), None);
    }
}
