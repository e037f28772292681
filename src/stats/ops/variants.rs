//! The comparison of a campaign's variants.

use analytics::messages::{Count, PeopleSums, TrialFilter, counts};
use campaigns::model::{
    settings::ab_test::{AbTestConfig, CONFIDENCE_DEFAULT, WinnerMetric},
    trial::Trial,
};
use kernel::Result;
use statistics::{
    multiplicity::{holm, simultaneous_confidence},
    proportion::{Proportion, share},
    sample_ratio::{ChiSquare, MISMATCH_BELOW},
};
use web::Services;

use super::{
    Maturity, ReportScope,
    beside::{Beside, beside},
    comparison_input::ComparisonInput,
    conversion_scan::{Credits, credits},
    event_credits::CreditFilter,
    looks::{Looking, looking},
    maturity::maturity,
    measures::{Results, is_by_assignment, measure, people_of},
    report::main_currency,
    sample_ratio::{SampleRatio, sample_ratio},
};
use crate::model::{
    comparison::{Compare, Comparison, Measure, expected_losses, probabilities},
    outcome::{Converted, Credit, Earned, MessageGroup, Outcomes, Treatment, sum},
    sequential::SequentialRules,
    warning::Warning,
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
    /// Whether only the messages of the A/B test are compared.
    pub is_of_trial: bool,
    /// The messages to the rest of the audience after the test, once it has ended.
    pub rollout: Option<Rollout>,
    /// The currency of revenue.
    pub currency: Option<String>,
    pub sample_ratio: SampleRatio,
    /// Whether all variants perform the same, if that can be tested.
    pub omnibus: Option<ChiSquare>,
    pub maturity: Maturity,
    /// What concerns all variants.
    pub warnings: Vec<Warning>,
    /// In the order of the campaign.
    pub variants: Vec<VariantResult>,
    pub beside: Beside,
}

/// Messages to the rest of the audience after an A/B test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rollout {
    pub count: Count,
    /// Number of people who converted.
    pub converted: u64,
    /// In whole units of the currency.
    pub revenue: f64,
}

/// The results of one variant.
#[derive(Debug, Clone)]
pub struct VariantResult {
    /// Number of messages by progress.
    pub count: Count,
    /// People by what became of their messages.
    pub people: PeopleSums,
    /// Messages sent, or of the control group.
    pub recipients: u64,
    pub converted: Converted,
    /// In the main currency.
    pub earned: Earned,
    pub measure: Measure,
    /// The comparison with the baseline; none for the baseline itself.
    pub comparison: Option<Comparison>,
    /// The p-value, adjusted for the number of comparisons.
    pub adjusted_p: Option<f64>,
    /// The probability that it is the best; none if it is not measured or has too few recipients.
    pub probability_to_be_best: Option<f64>,
    /// How much of the metric is lost on average if it is chosen and another is better.
    pub expected_loss: Option<f64>,
}

/// The messages that variants are compared by, with their outcomes.
pub(super) struct Compared {
    pub(super) counts: Vec<Count>,
    pub(super) people: Vec<PeopleSums>,
    /// Of the messages that were sent, and of the control group.
    pub(super) outcomes: Outcomes,
    /// Of all who were assigned, up to the age that comparisons count.
    pub(super) by_assignment: Outcomes,
}

/// Compares the variants of a campaign: by the metric of its A/B test, else by conversions if they are
/// tracked, else by opens. Of a campaign with an A/B test only the messages of the test are compared.
///
/// # Errors
/// If a store fails.
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
    let filter = scope.trial();
    let cohort = scope.cohort_of(filter);
    let maturity = maturity(app, scope, &cohort).await?;
    let credits = credits_by_assignment(app, scope, currency, &maturity).await?;
    let compared = compared(app, scope, filter, &credits).await?;
    let main = main_currency(&compared.by_assignment, currency);
    let results = Results { outcomes: &compared.by_assignment, currency: main.as_deref() };
    let mut variants: Vec<VariantResult> = (1_u8..)
        .take(definition.variants.len())
        .map(|number| of_variant(number, metric, &compared, &results))
        .collect();
    let control = scope.control().map(|number| usize::from(number) - 1);
    let baseline = control.or(if variants.is_empty() { None } else { Some(0) });
    // The control group has no messages to open.
    let is_measured = |at: usize| control != Some(at) || is_by_assignment(metric);
    let min_sample = config.as_ref().map_or(0, |config| u64::from(config.min_sample_per_variant()));
    let rules = Rules {
        confidence,
        scope,
        min_sample,
        is_mature: is_mature(metric, &maturity),
        looking: looking(app, scope, metric, confidence, &maturity).await?,
    };
    // Thousands of random draws take a tenth of a second.
    tokio::task::block_in_place(|| compare(&mut variants, baseline, &rules, &is_measured));
    let input = ComparisonInput {
        metric,
        is_by_assignment: is_by_assignment(metric),
        confidence,
        trial: filter,
        counts: &compared.counts,
        people: &compared.people,
        credits: counted(&credits, filter).collect(),
        currency: main.as_deref(),
        baseline,
        has_result: variants.iter().map(VariantResult::has_result).collect(),
    };
    let beside = beside(app, scope, &cohort, &input).await?;
    let trial = Trial::of(&scope.campaign);
    let rollout = rollout(app, scope, filter, &credits, main.as_deref()).await?;
    let omnibus = omnibus(&variants, &is_measured);
    Ok(VariantReport {
        metric,
        confidence,
        baseline,
        is_of_trial: filter.is_some(),
        rollout,
        sample_ratio: sample_ratio(app, scope, &cohort, &compared.counts).await?,
        omnibus,
        warnings: warnings(metric, &compared, &maturity, main.as_deref(), currency),
        currency: main,
        maturity,
        trial,
        variants,
        beside,
    })
}

fn is_mature(metric: WinnerMetric, maturity: &Maturity) -> bool {
    !is_by_assignment(metric) || maturity.is_comparable()
}

async fn credits_by_assignment(
    app: &Services,
    scope: &ReportScope,
    currency: Option<&str>,
    maturity: &Maturity,
) -> Result<Credits> {
    let filter =
        CreditFilter { by_assignment: true, cut_ms: maturity.cut_ms, ..CreditFilter::default() };
    credits(app, scope, currency, &filter).await
}

/// Whether a credit is of a message of these.
fn is_among(trial: Option<TrialFilter>, credit: &Credit) -> bool {
    trial.is_none_or(|trial| {
        let is_before = trial.concluded_ms.is_none_or(|concluded| credit.sent_ms < concluded);
        credit.group.occurrence > trial.after_occurrence && is_before == trial.is_trial
    })
}

/// What comparisons count, by assignment.
fn counted(credits: &Credits, trial: Option<TrialFilter>) -> impl Iterator<Item = &Credit> {
    credits.by_assignment.iter().filter(move |credit| is_among(trial, credit))
}

/// The messages of an A/B test, or all, and their outcomes.
pub(super) async fn compared(
    app: &Services,
    scope: &ReportScope,
    trial: Option<TrialFilter>,
    credits: &Credits,
) -> Result<Compared> {
    let cohort = scope.cohort_of(trial);
    let counts = counts(app.analytics(), &cohort).await?;
    let own = |credit: &&Credit| is_among(trial, credit);
    Ok(Compared {
        people: ReportScope::people(app, &cohort, &counts).await?,
        counts,
        outcomes: Outcomes::of(credits.credited.iter().filter(own)),
        by_assignment: Outcomes::of(counted(credits, trial)),
    })
}

/// The messages to the rest of the audience, if the test has ended.
async fn rollout(
    app: &Services,
    scope: &ReportScope,
    trial: Option<TrialFilter>,
    credits: &Credits,
    currency: Option<&str>,
) -> Result<Option<Rollout>> {
    let Some(ended) = trial.filter(|trial| trial.concluded_ms.is_some()) else { return Ok(None) };
    let after = TrialFilter { is_trial: false, ..ended };
    let count = sum(&counts(app.analytics(), &scope.cohort_of(Some(after))).await?);
    let own = credits.credited.iter().filter(|credit| is_among(Some(after), credit));
    let outcomes = Outcomes::of(own);
    let earned = currency.map(|of| outcomes.earned(of, MessageGroup::is_sent)).unwrap_or_default();
    let converted = outcomes.converted(0, MessageGroup::is_sent).people;
    Ok(Some(Rollout { count, converted, revenue: earned.amount / 1e4 }))
}

/// Whether all measured variants perform the same; none unless each person counts once in all of them.
fn omnibus(variants: &[VariantResult], is_measured: &dyn Fn(usize) -> bool) -> Option<ChiSquare> {
    let measured = variants.iter().enumerate().filter(|(at, _)| is_measured(*at));
    let rates: Option<Vec<Proportion>> =
        measured.map(|(_, variant)| variant.measure.proportion()).collect();
    ChiSquare::of_rates(&rates?)
}

fn of_variant(
    number: u8,
    metric: WinnerMetric,
    compared: &Compared,
    results: &Results<'_>,
) -> VariantResult {
    let count = sum(compared.counts.iter().filter(|count| count.variant == number));
    let people = people_of(&compared.people, number);
    let belongs = |of: &MessageGroup| of.variant == number;
    let left = |of: &MessageGroup| of.variant == number && of.treatment != Treatment::Unsent;
    let earned = results.currency.map(|of| compared.outcomes.earned(of, left));
    VariantResult {
        recipients: count.sent + count.control,
        converted: compared.outcomes.converted(0, left),
        earned: earned.unwrap_or_default(),
        measure: measure(metric, &people, results, &belongs),
        count,
        people,
        comparison: None,
        adjusted_p: None,
        probability_to_be_best: None,
        expected_loss: None,
    }
}

/// When comparisons may be shown, and called significant.
struct Rules<'r> {
    confidence: f64,
    scope: &'r ReportScope,
    /// Recipients that each variant must have.
    min_sample: u64,
    is_mature: bool,
    looking: Looking,
}

fn compare(
    variants: &mut [VariantResult],
    baseline: Option<usize>,
    rules: &Rules<'_>,
    is_measured: &dyn Fn(usize) -> bool,
) {
    let Some(baseline) = baseline else { return };
    let Some(base) = variants.get(baseline).map(|variant| variant.measure.clone()) else { return };
    let is_below = |at: usize, variant: &VariantResult| {
        is_measured(at) && variant.measure.sample() < rules.min_sample
    };
    let too_few = variants.iter().enumerate().any(|(at, variant)| is_below(at, variant));
    let comparisons = variants.len().saturating_sub(1);
    for (at, variant) in variants.iter_mut().enumerate().filter(|(at, _)| *at != baseline) {
        let mut comparison = if is_measured(baseline) {
            let confidence = simultaneous_confidence(rules.confidence, comparisons);
            let seed = rules.scope.variant_seed(at);
            let own = Compare { confidence: rules.confidence, seed };
            let mut comparison = variant.measure.against(&base, own);
            let adjusted = variant.measure.against(&base, Compare { confidence, ..own });
            comparison.adjusted_interval = adjusted.lift_interval;
            let id = rules.scope.variants().get(at).map_or("", String::as_str);
            let rules_of_looks = SequentialRules { compare: own, comparisons };
            let found = rules.looking.compare(id, &variant.measure, &base, &rules_of_looks);
            comparison.sequential =
                Some(if comparison.warnings.is_empty() { found } else { found.without_result() });
            comparison
        } else {
            let warnings = vec![Warning::ControlHasNoMessages];
            Comparison { warnings, ..Comparison::default() }
        };
        if too_few && is_measured(at) {
            comparison = comparison.without_result(Warning::BelowMinSample(rules.min_sample));
        }
        comparison.is_mature = rules.is_mature;
        variant.comparison = Some(comparison);
    }
    let p_of = |variant: &VariantResult| variant.comparison.as_ref().and_then(|it| it.p_value);
    let adjusted = holm(&variants.iter().map(p_of).collect::<Vec<_>>());
    for (variant, p) in variants.iter_mut().zip(adjusted) {
        variant.adjusted_p = p;
    }
    if too_few {
        return;
    }
    // The best is the best of several that have people.
    let has_people = |at: &usize| is_measured(*at) && variants[*at].measure.sample() > 0;
    let measured: Vec<usize> = (0..variants.len()).filter(has_people).collect();
    if measured.len() < 2 {
        return;
    }
    let measures: Vec<Measure> = measured.iter().map(|at| variants[*at].measure.clone()).collect();
    let best = probabilities(&measures).into_iter().zip(expected_losses(&measures));
    for (at, (probability, loss)) in measured.into_iter().zip(best) {
        variants[at].probability_to_be_best = Some(probability);
        variants[at].expected_loss = Some(loss);
    }
}

fn warnings(
    metric: WinnerMetric,
    compared: &Compared,
    maturity: &Maturity,
    main: Option<&str>,
    reporting: Option<&str>,
) -> Vec<Warning> {
    let mut found = Vec::new();
    if !is_mature(metric, maturity) {
        found.push(Warning::WindowsOpen(maturity.closed));
    }
    if let Some(main) = main.filter(|_| reporting.is_none())
        && compared.outcomes.currencies().len() > 1
    {
        found.push(Warning::MixedCurrencies(main.to_owned()));
    }
    let failures: Vec<Proportion> = compared
        .people
        .iter()
        .filter(|people| people.variant > 0 && people.assigned > 0)
        .map(|of| Proportion {
            successes: of.assigned.saturating_sub(of.sent),
            trials: of.assigned,
        })
        .collect();
    found.extend(
        ChiSquare::of_rates(&failures)
            .filter(|test| test.p_value < MISMATCH_BELOW)
            .map(|test| Warning::DifferentialFailure(test.p_value)),
    );
    found
}

impl VariantResult {
    /// Whether it is compared with the baseline, and on enough recipients.
    fn has_result(&self) -> bool {
        self.comparison.as_ref().is_some_and(|it| it.p_value.is_some())
    }

    /// Share of the people who were sent a message, or held back as the control group, who converted.
    pub fn conversion_rate(&self) -> f64 {
        share(self.converted.people, self.people.sent + self.people.control)
    }
}

impl VariantReport {
    /// Whether the metric counts all who were assigned.
    pub fn is_by_assignment(&self) -> bool {
        is_by_assignment(self.metric)
    }

    /// Whether people are compared, and not messages.
    pub fn is_by_person(&self) -> bool {
        let is_ratio = |variant: &VariantResult| matches!(variant.measure, Measure::Ratio(_));
        self.is_by_assignment() || self.variants.iter().any(is_ratio)
    }
}
