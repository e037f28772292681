//! How the variants of a campaign compare.

use analytics::messages::Count;
use campaigns::model::{
    settings::ab_test::{AbTestConfig, CONFIDENCE_DEFAULT, WinnerMetric},
    trial::Trial,
};
use kernel::Result;
use statistics::{proportion::Proportion, sample_ratio::ChiSquare};
use web::Services;

use super::{
    Asked,
    conversion_scan::{Questions, credits},
    report::main_currency,
};
use crate::model::{
    comparison::{Comparison, Measure, holm, probabilities},
    outcome::{Achieved, Converted, Earned, MessageGroup, sum},
};

/// How the variants of a campaign compare.
#[derive(Debug, Clone)]
pub struct VariantReport {
    pub metric: WinnerMetric,
    pub confidence: f64,
    /// The place of the one the others are compared with, from 0; none of none.
    pub baseline: Option<usize>,
    /// How far a trial of them is.
    pub trial: Option<Trial>,
    /// Whether the audience was divided as the weights say, where they say.
    pub sample_ratio: Option<ChiSquare>,
    /// Whether all do the same, where that can be asked.
    pub omnibus: Option<ChiSquare>,
    /// In the order of the campaign.
    pub variants: Vec<OfVariant>,
}

/// How one variant did.
#[derive(Debug, Clone)]
pub struct OfVariant {
    /// How many messages got how far.
    pub count: Count,
    /// Messages that left, or would have of a control group.
    pub recipients: u64,
    pub converted: Converted,
    /// In the reported currency.
    pub earned: Earned,
    pub measure: Measure,
    /// How it compares with the baseline; none of the baseline itself.
    pub comparison: Option<Comparison>,
    /// Its p-value, adjusted for how many are compared.
    pub adjusted_p: Option<f64>,
    /// How probable it is to be the best; none where it cannot be.
    pub probability_to_be_best: Option<f64>,
}

/// Whether something is a variant's own.
pub(super) type IsIts<'a> = &'a dyn Fn(&MessageGroup) -> bool;

/// What a variant is measured by.
pub(super) fn measure(
    metric: WinnerMetric,
    (count, recipients): (&Count, u64),
    achieved: &Achieved,
    (currency, is_its): (Option<&str>, IsIts<'_>),
) -> Measure {
    let rate = |successes: u64, trials: u64| {
        Measure::Rate(Proportion { successes: successes.min(trials), trials })
    };
    match metric {
        WinnerMetric::OpenRate => rate(count.opened, count.reached()),
        WinnerMetric::ClickRate => rate(count.clicked, count.reached()),
        WinnerMetric::ConversionRate => rate(achieved.converted(0, is_its).unique, recipients),
        WinnerMetric::RevenuePerRecipient => {
            let currency = main_currency(achieved, currency);
            let earned = currency.map(|of| achieved.earned(&of, is_its)).unwrap_or_default();
            Measure::Money(earned.mean(recipients))
        }
    }
}

/// Compares the variants of a campaign: by the metric of its trial, else by conversions where it counts them,
/// else by openings.
///
/// # Errors
/// When a store fails; a bad request where there are too many events to look at.
pub async fn variant_report(
    app: &Services,
    asked: &Asked,
    currency: Option<&str>,
) -> Result<VariantReport> {
    let definition = &asked.campaign.definition;
    let config = definition.ab_test_config.clone().filter(AbTestConfig::is_enabled);
    let by_default = match definition.conversion_tracking {
        Some(_) => WinnerMetric::ConversionRate,
        None => WinnerMetric::OpenRate,
    };
    let metric = config.as_ref().map_or(by_default, AbTestConfig::winner_metric);
    let confidence = config.as_ref().map_or(CONFIDENCE_DEFAULT, AbTestConfig::confidence_level);
    let counts = asked.counts(app).await?;
    let achieved = Achieved::of(&credits(app, asked, currency, &Questions::default()).await?);
    let mut variants: Vec<OfVariant> = (1_u8..)
        .take(definition.variants.len())
        .map(|place| of_variant(place, metric, &counts, (&achieved, currency)))
        .collect();
    let control = asked.control().map(|place| usize::from(place) - 1);
    let baseline = control.or(if variants.is_empty() { None } else { Some(0) });
    // Who gets nothing has nothing to open.
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
    let trial = Trial::of(&asked.campaign);
    Ok(VariantReport {
        metric,
        confidence,
        baseline,
        sample_ratio: sample_ratio(asked, &variants, trial.as_ref()),
        omnibus: ChiSquare::of_rates(&rates),
        trial,
        variants,
    })
}

fn of_variant(
    place: u8,
    metric: WinnerMetric,
    counts: &[Count],
    (achieved, currency): (&Achieved, Option<&str>),
) -> OfVariant {
    let count = sum(counts.iter().filter(|count| count.variant == place));
    let recipients = count.sent + count.control;
    let is_its = |of: &MessageGroup| of.variant == place;
    let earned = main_currency(achieved, currency).map(|of| achieved.earned(&of, is_its));
    OfVariant {
        recipients,
        converted: achieved.converted(0, is_its),
        earned: earned.unwrap_or_default(),
        measure: measure(metric, (&count, recipients), achieved, (currency, &is_its)),
        count,
        comparison: None,
        adjusted_p: None,
        probability_to_be_best: None,
    }
}

fn compare(
    variants: &mut [OfVariant],
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
    let p_of = |variant: &OfVariant| variant.comparison.as_ref().and_then(|it| it.p_value);
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

/// Whether everyone is where the weights would have them. Not once a winner went to the rest, nor where
/// learning divides them.
fn sample_ratio(asked: &Asked, variants: &[OfVariant], trial: Option<&Trial>) -> Option<ChiSquare> {
    let state = &asked.campaign.state;
    let is_by_weight =
        state.rl.is_none() && trial.is_none_or(|trial| trial.winner_variant_id.is_none());
    let counts: Vec<u64> =
        variants.iter().map(|variant| variant.count.queued + variant.count.control).collect();
    let weights: Vec<f64> =
        asked.campaign.definition.variants.iter().map(|variant| variant.weight).collect();
    if is_by_weight { ChiSquare::of_division(&counts, &weights) } else { None }
}
