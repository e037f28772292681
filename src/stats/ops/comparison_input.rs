//! The messages and outcomes that a comparison of variants was computed of.

use analytics::messages::{Count, PeopleSums, TrialFilter};
use campaigns::model::settings::ab_test::WinnerMetric;

use crate::model::outcome::Credit;

/// What a comparison was computed of.
pub(super) struct ComparisonInput<'a> {
    pub(super) metric: WinnerMetric,
    /// Whether the metric counts all who were assigned, and not only messages that were sent.
    pub(super) is_by_assignment: bool,
    pub(super) confidence: f64,
    /// The A/B test of whose messages these are.
    pub(super) trial: Option<TrialFilter>,
    pub(super) counts: &'a [Count],
    pub(super) people: &'a [PeopleSums],
    /// What comparisons count, by assignment.
    pub(super) credits: Vec<&'a Credit>,
    /// The currency of revenue.
    pub(super) currency: Option<&'a str>,
    pub(super) baseline: Option<usize>,
    /// Of each variant whether it has a p-value.
    pub(super) has_result: Vec<bool>,
}

impl ComparisonInput<'_> {
    /// The indexes of the variants that have a result.
    pub(super) fn with_result(&self) -> impl Iterator<Item = usize> {
        self.has_result.iter().enumerate().filter(|(_, has)| **has).map(|(at, _)| at)
    }

    /// The people of a variant, by its number.
    pub(super) fn people_of(&self, number: u8) -> PeopleSums {
        let found = self.people.iter().find(|of| of.variant == number).copied();
        found.unwrap_or(PeopleSums { variant: number, ..PeopleSums::default() })
    }

    /// Whether no person can have several of the messages.
    pub(super) fn is_once(&self) -> bool {
        let mut occurrences = self.counts.iter().map(|count| count.occurrence);
        let first = occurrences.next();
        occurrences.all(|other| first == Some(other))
    }
}
