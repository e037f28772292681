//! The effect of each variant in each sending of a campaign.

use std::collections::{BTreeMap, BTreeSet};

use analytics::messages::{Cohort, day_counts};
use campaigns::model::settings::ab_test::WinnerMetric;
use kernel::{
    Result,
    time::{DAY, millis},
};
use statistics::{proportion::Proportion, trend::EFFECTS_MIN};
use web::Services;

use super::{ReportScope, comparison_input::ComparisonInput};
use crate::model::{
    comparison::Measure,
    outcome::{Credit, Outcomes},
    trend::{Sending, SendingEffect, VariantTrend, trends},
};

/// The newest sendings that are compared.
const SENDINGS_MAX: usize = 366;
/// Messages of a campaign above which they are not counted by day.
const BY_DAY_MAX: u64 = 300_000;

/// Messages of a variant in one sending.
#[derive(Debug, Clone, Copy)]
struct Slice {
    sending: Sending,
    variant: u8,
    /// People who were assigned or held back.
    people: u64,
    /// Messages that were sent and did not bounce.
    messages: u64,
    opened: u64,
    clicked: u64,
}

/// The trend of each variant; none of the baseline, and of those without a comparison.
pub(super) async fn of_variants(
    app: &Services,
    scope: &ReportScope,
    cohort: &Cohort<'_>,
    input: &ComparisonInput<'_>,
) -> Result<Vec<Option<VariantTrend>>> {
    let none = vec![None; cohort.variants.len()];
    let compared: Vec<usize> = input.with_result().collect();
    let Some(baseline) = input.baseline.filter(|_| !compared.is_empty()) else {
        return Ok(none);
    };
    let mut slices = slices(app, scope, cohort, input).await?;
    let sendings: BTreeSet<Sending> = slices.iter().map(|slice| slice.sending).collect();
    if sendings.len() < 2 {
        return Ok(none);
    }
    let sendings: Vec<Sending> = sendings.into_iter().rev().take(SENDINGS_MAX).collect();
    slices.retain(|slice| sendings.contains(&slice.sending));
    let outcomes = outcomes(input, &slices);
    let measures: BTreeMap<(Sending, u8), Measure> = slices
        .iter()
        .map(|slice| ((slice.sending, slice.variant), measure(input, slice, &outcomes)))
        .collect();
    let number = |at: usize| u8::try_from(at + 1).unwrap_or(0);
    let effects = |at: &usize| -> Vec<SendingEffect> {
        let effect = |sending: &Sending| {
            let own = measures.get(&(*sending, number(*at)))?;
            let base = measures.get(&(*sending, number(baseline)))?;
            SendingEffect::new(*sending, own, base)
        };
        sendings.iter().rev().filter_map(effect).collect()
    };
    let found = trends(compared.iter().map(effects).collect());
    let mut all = none;
    for (at, trend) in compared.into_iter().zip(found) {
        all[at] = Some(trend);
    }
    Ok(all)
}

/// By occurrence; of a campaign that goes to each person once by day.
async fn slices(
    app: &Services,
    scope: &ReportScope,
    cohort: &Cohort<'_>,
    input: &ComparisonInput<'_>,
) -> Result<Vec<Slice>> {
    let counts = input.counts;
    if !input.is_once() {
        let slice = |count: &analytics::messages::Count| Slice {
            sending: Sending::Occurrence(count.occurrence),
            variant: count.variant,
            people: count.sent + count.failed + count.skipped + count.cancelled + count.control,
            messages: count.sent_not_bounced,
            opened: count.opened,
            clicked: count.clicked,
        };
        return Ok(counts.iter().map(slice).collect());
    }
    let messages: u64 = counts.iter().map(|count| count.queued + count.control).sum();
    if messages > BY_DAY_MAX {
        return Ok(Vec::new());
    }
    let spans = scope.spans(app).await?;
    let first = spans.iter().map(|span| day_of(span.first_ms)).min();
    let last = spans.iter().map(|span| day_of(span.last_ms)).max();
    let Some((first, last)) = first.zip(last) else { return Ok(Vec::new()) };
    let few = i64::try_from(EFFECTS_MIN).unwrap_or(i64::MAX) - 1;
    if last - first < few {
        return Ok(Vec::new());
    }
    let rows_max = SENDINGS_MAX.saturating_mul(cohort.variants.len()) as u64;
    let found = day_counts(app.analytics(), cohort, rows_max).await?;
    let slice = |count: analytics::messages::DayCount| Slice {
        sending: Sending::Day(count.day),
        variant: count.variant,
        people: count.people,
        messages: count.messages,
        opened: count.opened,
        clicked: count.clicked,
    };
    Ok(found.into_iter().map(slice).collect())
}

fn day_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(millis(DAY))
}

/// What people did after each sending, if the metric is of that.
fn outcomes(input: &ComparisonInput<'_>, slices: &[Slice]) -> BTreeMap<Sending, Outcomes> {
    if !input.is_by_assignment {
        return BTreeMap::new();
    }
    let by_day = slices.iter().any(|slice| matches!(slice.sending, Sending::Day(_)));
    let mut credits: BTreeMap<Sending, Vec<&Credit>> = BTreeMap::new();
    for credit in input.credits.iter().copied() {
        let sending = if by_day {
            Sending::Day(day_of(credit.sent_ms))
        } else {
            Sending::Occurrence(credit.group.occurrence)
        };
        credits.entry(sending).or_default().push(credit);
    }
    credits.into_iter().map(|(sending, of)| (sending, Outcomes::of(of))).collect()
}

fn measure(
    input: &ComparisonInput<'_>,
    slice: &Slice,
    outcomes: &BTreeMap<Sending, Outcomes>,
) -> Measure {
    let rate = |successes: u64, trials: u64| {
        Measure::Rate(Proportion { successes: successes.min(trials), trials })
    };
    let none = Outcomes::default();
    let outcomes = outcomes.get(&slice.sending).unwrap_or(&none);
    let belongs = |of: &crate::model::outcome::MessageGroup| of.variant == slice.variant;
    match input.metric {
        WinnerMetric::OpenRate => rate(slice.opened, slice.messages),
        WinnerMetric::ClickRate => rate(slice.clicked, slice.messages),
        WinnerMetric::ConversionRate => rate(outcomes.converted(0, belongs).people, slice.people),
        WinnerMetric::RevenuePerRecipient => {
            let earned = input.currency.map(|of| outcomes.earned(of, belongs));
            Measure::money(&earned.unwrap_or_default(), slice.people)
        }
    }
}
