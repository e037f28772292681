//! Results of A/B tests, from which their winner is selected.

use std::collections::BTreeMap;

use campaigns::model::{Campaign, settings::ab_test::AbTestConfig, trial::TrialLook};
use kernel::{Result, Timestamp, WorkspaceId};
use web::{Services, http::DateRange};

use super::{
    ReportScope,
    conversion_scan::{Credits, credits, reporting_currency},
    event_credits::CreditFilter,
    looks::look,
    maturity::maturity,
    measures::{Results, is_by_assignment, measure, people_of},
    variants::{Compared, compared},
};
use crate::model::{
    comparison::{Compare, contest},
    outcome::MessageGroup,
};

/// The result of a variant in an A/B test.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialVariant {
    pub variant_id: String,
    /// Number of people that the metric is of.
    pub recipients: u64,
    /// Its metric: a rate, or revenue per recipient.
    pub value: f64,
}

/// The state of an A/B test.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Its variants without the control group.
    pub variants: Vec<TrialVariant>,
    /// The best so far.
    pub best: Option<String>,
    /// The significant winner: it beats each other variant with the required confidence, adjusted for their
    /// number, on samples of the required size.
    pub winner: Option<String>,
    /// Whether every variant has the required sample.
    pub is_enough: bool,
    /// The p-value of the best against each other variant, by the id of the other, adjusted for their number.
    pub p_values: BTreeMap<String, f64>,
    /// When the first message of the test was sent, if one was.
    pub began_at: Option<Timestamp>,
    /// How its variants compare with the baseline now.
    pub look: Option<TrialLook>,
}

/// The state of a campaign's A/B test by its metric, over the messages of occurrences since the test began.
///
/// # Errors
/// If a store fails.
pub async fn verdict(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
) -> Result<Verdict> {
    let config = campaign.definition.ab_test_config.clone().unwrap_or_default();
    let scope = ReportScope::new(workspace, campaign.clone(), DateRange::default());
    let trial = scope.trial();
    let after = trial.map_or(0, |trial| trial.after_occurrence);
    let spans = scope.spans(app).await?.iter().filter(|span| span.occurrence > after);
    let currency = reporting_currency(app, workspace).await?;
    let maturity = maturity(app, &scope, &scope.cohort_of(trial)).await?;
    let credits = if is_by_assignment(config.winner_metric()) {
        let filter = CreditFilter {
            after_occurrence: i32::try_from(after).unwrap_or(i32::MAX),
            by_assignment: true,
            cut_ms: maturity.cut_ms,
            ..CreditFilter::default()
        };
        credits(app, &scope, currency.as_deref(), &filter).await?
    } else {
        Credits::default()
    };
    let compared = compared(app, &scope, trial, &credits).await?;
    let began_at = spans.map(|span| Timestamp::from_millis(span.first_ms)).min();
    let now = app.clock().now();
    tokio::task::block_in_place(|| {
        let results = Results { outcomes: &compared.by_assignment, currency: currency.as_deref() };
        let look = look(&scope, &config, &compared.people, &results, now);
        let verdict = state_of(&scope, &config, &compared, currency.as_deref());
        Ok(Verdict { began_at, look, ..verdict })
    })
}

fn state_of(
    scope: &ReportScope,
    config: &AbTestConfig,
    compared: &Compared,
    currency: Option<&str>,
) -> Verdict {
    let results = Results { outcomes: &compared.by_assignment, currency };
    let (mut variants, mut measures) = (Vec::new(), Vec::new());
    for (number, variant) in (1_u8..).zip(&scope.campaign.definition.variants) {
        if variant.is_control() {
            continue;
        }
        let people = people_of(&compared.people, number);
        let is_its = |of: &MessageGroup| of.variant == number && !of.is_control();
        let measure = measure(config.winner_metric(), &people, &results, &is_its);
        variants.push(TrialVariant {
            variant_id: variant.id.clone(),
            recipients: measure.sample(),
            value: measure.value(),
        });
        measures.push(measure);
    }
    let least = u64::from(config.min_sample_per_variant());
    let is_enough = variants.iter().all(|variant| variant.recipients >= least);
    let id_of = |at: usize| variants[at].variant_id.clone();
    let rules = Compare { confidence: config.confidence_level(), seed: scope.seed() };
    let found = contest(&measures, rules);
    let won = found.as_ref().filter(|contest| contest.is_won && is_enough);
    Verdict {
        winner: won.map(|contest| id_of(contest.best)),
        best: found.as_ref().map(|contest| id_of(contest.best)),
        p_values: found
            .iter()
            .flat_map(|contest| &contest.p_values)
            .map(|(at, p)| (id_of(*at), *p))
            .collect(),
        is_enough,
        began_at: None,
        look: None,
        variants,
    }
}
