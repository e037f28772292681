//! Harm done by the variants of a campaign, by people.

use analytics::messages::{Cohort, Harms, harms};
use kernel::Result;
use web::Services;

use super::comparison_input::ComparisonInput;
use crate::model::{
    guardrail::{Guardrail, Harmed, guardrails},
    outcome::sum,
};

/// The guardrails of a campaign's variants.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Guardrails {
    /// The index of the variant that others are compared with: the first with messages. None of fewer than two.
    pub baseline: Option<usize>,
    /// By variant; nothing of the baseline and of the control group, which gets no messages.
    pub by_variant: Vec<Vec<Guardrail>>,
}

/// Compares the harm done by each variant with that of the first with messages, whatever the metric of success is
/// compared with: a control group has no messages to unsubscribe from.
pub(super) async fn of_variants(
    app: &Services,
    cohort: &Cohort<'_>,
    input: &ComparisonInput<'_>,
    control: Option<usize>,
) -> Result<Guardrails> {
    let count = cohort.variants.len();
    let with_messages: Vec<usize> = (0..count).filter(|at| control != Some(*at)).collect();
    let mut by_variant = vec![Vec::new(); count];
    let Some((first, others)) = with_messages.split_first().filter(|(_, rest)| !rest.is_empty())
    else {
        return Ok(Guardrails { baseline: None, by_variant });
    };
    let harmed = harmed(app, cohort, input).await?;
    let of = |at: &usize| harmed.get(*at).copied().unwrap_or_default();
    let compared: Vec<Harmed> = others.iter().map(of).collect();
    for (at, found) in others.iter().zip(guardrails(&of(first), &compared)) {
        by_variant[*at] = found;
    }
    Ok(Guardrails { baseline: Some(*first), by_variant })
}

/// People of each variant to whom harm was done.
async fn harmed(
    app: &Services,
    cohort: &Cohort<'_>,
    input: &ComparisonInput<'_>,
) -> Result<Vec<Harmed>> {
    let found = if input.is_once() {
        // A person has one message.
        Vec::new()
    } else {
        harms(app.analytics(), cohort).await?
    };
    let of_variant = |number: u8| {
        let people = input.people_of(number);
        let harms = if input.is_once() {
            let count = sum(input.counts.iter().filter(|count| count.variant == number));
            Harms {
                variant: number,
                unsubscribed: count.unsubscribed,
                complained: count.complained,
                bounced: count.bounced,
                failed: count.failed,
            }
        } else {
            found.iter().find(|of| of.variant == number).copied().unwrap_or_default()
        };
        Harmed {
            sent: people.sent,
            assigned: people.assigned,
            unsubscribed: harms.unsubscribed,
            complained: harms.complained,
            bounced: harms.bounced,
            failed: harms.failed,
        }
    };
    Ok((1_u8..).take(cohort.variants.len()).map(of_variant).collect())
}
