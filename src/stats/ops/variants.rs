//! The comparison of a campaign's variants.

use analytics::messages::Count;
use campaigns::model::{
    settings::ab_test::{AbTestConfig, CONFIDENCE_DEFAULT, WinnerMetric},
    trial::Trial,
};
use kernel::Result;
use statistics::{proportion::Proportion, sample_ratio::ChiSquare};
use web::Services;

use super::{
    ReportScope,
    conversion_scan::{CreditFilter, credits},
    report::main_currency,
};
use crate::model::{
    comparison::{Comparison, Measure, holm, probabilities},
    outcome::{Converted, Earned, MessageGroup, Outcomes, sum},
};

/// The comparison of a campaign's variants.
#[derive(Debug, Clone)]
pub struct VariantReport {
    pub metric: WinnerMetric,
    pub confidence: f64,
    /// The index of the variant that others are compared with, if there are variants.
    pub baseline: Option<usize>,
    /// The state of the A/B test.
    pub trial: Option<Trial>,
    /// Whether the audience was divided by the weights, if they apply.
    pub sample_ratio: Option<ChiSquare>,
    /// Whether all variants perform the same, if that can be tested.
    pub omnibus: Option<ChiSquare>,
    /// In the order of the campaign.
    pub variants: Vec<VariantResult>,
}

/// The results of one variant.
#[derive(Debug, Clone)]
pub struct VariantResult {
    /// Number of messages by progress.
    pub count: Count,
    /// Messages sent, or of the control group.
    pub recipients: u64,
    pub converted: Converted,
    /// In the reporting currency.
    pub earned: Earned,
    pub measure: Measure,
    /// The comparison with the baseline; none for the baseline itself.
    pub comparison: Option<Comparison>,
    /// The p-value, adjusted for the number of comparisons.
    pub adjusted_p: Option<f64>,
    /// The probability that it is the best; none if it is not measured.
    pub probability_to_be_best: Option<f64>,
}

/// Outcomes and the reporting currency, if there is one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Results<'a> {
    pub(super) outcomes: &'a Outcomes,
    pub(super) currency: Option<&'a str>,
}

/// Whether a group belongs to a variant.
pub(super) type BelongsTo<'a> = &'a dyn Fn(&MessageGroup) -> bool;

/// The measured metric of a variant.
pub(super) fn measure(
    metric: WinnerMetric,
    count: &Count,
    recipients: u64,
    results: &Results<'_>,
    belongs: BelongsTo<'_>,
) -> Measure {
    let Results { outcomes, currency } = *results;
    let rate = |successes: u64, trials: u64| {
        Measure::Rate(Proportion { successes: successes.min(trials), trials })
    };
    match metric {
        WinnerMetric::OpenRate => rate(count.opened, count.reached()),
        WinnerMetric::ClickRate => rate(count.clicked, count.reached()),
        WinnerMetric::ConversionRate => rate(outcomes.converted(0, belongs).unique, recipients),
        WinnerMetric::RevenuePerRecipient => {
            let currency = main_currency(outcomes, currency);
            let earned = currency.map(|of| outcomes.earned(&of, belongs)).unwrap_or_default();
            Measure::Money(earned.mean(recipients))
        }
    }
}

/// Compares the variants of a campaign: by the metric of its A/B test, else by conversions if they are
/// tracked, else by opens.
///
/// # Errors
/// If a store fails; a bad request if there are too many events to scan.
pub async fn variant_report(
    app: &Services,
    scope: &ReportScope,
    currency: Option<&str>,
) -> Result<VariantReport> {
    let definition = &scope.campaign.definition;
    let config = definition.ab_test_config.clone().filter(AbTestConfig::is_enabled);
    let by_default = match definition.conversion_tracking {
        Some(_) => WinnerMetric::ConversionRate,
        None => WinnerMetric::OpenRate,
    };
    let metric = config.as_ref().map_or(by_default, AbTestConfig::winner_metric);
    let confidence = config.as_ref().map_or(CONFIDENCE_DEFAULT, AbTestConfig::confidence_level);
    let counts = scope.counts(app).await?;
    let outcomes = Outcomes::of(&credits(app, scope, currency, &CreditFilter::default()).await?);
    let results = Results { outcomes: &outcomes, currency };
    let mut variants: Vec<VariantResult> = (1_u8..)
        .take(definition.variants.len())
        .map(|place| of_variant(place, metric, &counts, &results))
        .collect();
    let control = scope.control().map(|place| usize::from(place) - 1);
    let baseline = control.or(if variants.is_empty() { None } else { Some(0) });
    // The control group has no messages to open.
    let is_measured = |place: usize| {
        control != Some(place)
            || matches!(metric, WinnerMetric::ConversionRate | WinnerMetric::RevenuePerRecipient)
    };
    compare(&mut variants, baseline, confidence, &is_measured);
    let measured = variants.iter().enumerate().filter(|(place, _)| is_measured(*place));
    let rates: Vec<Proportion> = measured
        .filter_map(|(_, variant)| match variant.measure {
            Measure::Rate(rate) => Some(rate),
            Measure::Money(_) => None,
        })
        .collect();
    let trial = Trial::of(&scope.campaign);
    Ok(VariantReport {
        metric,
        confidence,
        baseline,
        sample_ratio: sample_ratio(scope, &variants, trial.as_ref()),
        omnibus: ChiSquare::of_rates(&rates),
        trial,
        variants,
    })
}

fn of_variant(
    place: u8,
    metric: WinnerMetric,
    counts: &[Count],
    results: &Results<'_>,
) -> VariantResult {
    let Results { outcomes, currency } = *results;
    let count = sum(counts.iter().filter(|count| count.variant == place));
    let recipients = count.sent + count.control;
    let belongs = |of: &MessageGroup| of.variant == place;
    let earned = main_currency(outcomes, currency).map(|of| outcomes.earned(&of, belongs));
    VariantResult {
        recipients,
        converted: outcomes.converted(0, belongs),
        earned: earned.unwrap_or_default(),
        measure: measure(metric, &count, recipients, results, &belongs),
        count,
        comparison: None,
        adjusted_p: None,
        probability_to_be_best: None,
    }
}

fn compare(
    variants: &mut [VariantResult],
    baseline: Option<usize>,
    confidence: f64,
    is_measured: &dyn Fn(usize) -> bool,
) {
    let Some(baseline) = baseline else { return };
    let Some(base) = variants.get(baseline).map(|variant| variant.measure) else { return };
    for (place, variant) in variants.iter_mut().enumerate() {
        if place == baseline {
            continue;
        }
        variant.comparison = Some(if is_measured(baseline) {
            variant.measure.against(&base, confidence)
        } else {
            let warning = "the control group gets no messages to open or click in".to_owned();
            Comparison { warning: Some(warning), ..Comparison::default() }
        });
    }
    let p_of = |variant: &VariantResult| variant.comparison.as_ref().and_then(|it| it.p_value);
    let adjusted = holm(&variants.iter().map(p_of).collect::<Vec<_>>());
    let places: Vec<usize> = (0..variants.len()).filter(|place| is_measured(*place)).collect();
    let measures: Vec<Measure> = places.iter().map(|place| variants[*place].measure).collect();
    for (place, probability) in places.into_iter().zip(probabilities(&measures)) {
        variants[place].probability_to_be_best = Some(probability);
    }
    for (variant, p) in variants.iter_mut().zip(adjusted) {
        variant.adjusted_p = p;
    }
}

/// Whether the audience was divided by the weights. Not tested once a winner got the rest, nor if learning
/// sets the shares.
fn sample_ratio(
    scope: &ReportScope,
    variants: &[VariantResult],
    trial: Option<&Trial>,
) -> Option<ChiSquare> {
    let state = &scope.campaign.state;
    let is_by_weight =
        state.rl.is_none() && trial.is_none_or(|trial| trial.winner_variant_id.is_none());
    let counts: Vec<u64> =
        variants.iter().map(|variant| variant.count.queued + variant.count.control).collect();
    let weights: Vec<f64> =
        scope.campaign.definition.variants.iter().map(|variant| variant.weight).collect();
    if is_by_weight { ChiSquare::of_division(&counts, &weights) } else { None }
}
