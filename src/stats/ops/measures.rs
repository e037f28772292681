//! The measured metric of each variant.

use analytics::messages::PeopleSums;
use campaigns::model::settings::ab_test::WinnerMetric;
use statistics::proportion::Proportion;

use super::report::main_currency;
use crate::model::{
    comparison::Measure,
    outcome::{MessageGroup, Outcomes},
};

/// Outcomes and the reporting currency, if there is one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Results<'a> {
    /// By assignment, as comparisons count.
    pub(super) outcomes: &'a Outcomes,
    pub(super) currency: Option<&'a str>,
}

/// Whether a group belongs to a variant.
pub(super) type BelongsTo<'a> = &'a dyn Fn(&MessageGroup) -> bool;

/// The measured metric of a variant. Opens and clicks are of the messages that were sent and did not bounce; conversions
/// and revenue are of all people who were assigned to it.
pub(super) fn measure(
    metric: WinnerMetric,
    people: &PeopleSums,
    results: &Results<'_>,
    belongs: BelongsTo<'_>,
) -> Measure {
    let Results { outcomes, currency } = *results;
    let assigned = people.assigned + people.control;
    match metric {
        WinnerMetric::OpenRate => Measure::of_opens(people),
        WinnerMetric::ClickRate => Measure::of_clicks(people),
        WinnerMetric::ConversionRate => {
            let successes = outcomes.converted(0, belongs).people.min(assigned);
            Measure::Rate(Proportion { successes, trials: assigned })
        }
        WinnerMetric::RevenuePerRecipient => {
            let currency = main_currency(outcomes, currency);
            let earned = currency.map(|of| outcomes.earned(&of, belongs)).unwrap_or_default();
            Measure::money(&earned, assigned)
        }
    }
}

/// Whether a metric counts all who were assigned, and not only messages that were sent.
pub(super) fn is_by_assignment(metric: WinnerMetric) -> bool {
    matches!(metric, WinnerMetric::ConversionRate | WinnerMetric::RevenuePerRecipient)
}

/// The people of a variant, by its number.
pub(super) fn people_of(all: &[PeopleSums], number: u8) -> PeopleSums {
    let found = all.iter().find(|people| people.variant == number).copied();
    found.unwrap_or(PeopleSums { variant: number, ..PeopleSums::default() })
}
