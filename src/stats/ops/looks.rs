//! Looks at comparisons while messages are still answered.

use std::time::Duration;

use analytics::messages::PeopleSums;
use campaigns::model::{
    SendType, Status, checks,
    settings::ab_test::{AbTestConfig, WinnerMetric},
    trial::{Trial, TrialLook},
};
use kernel::{Result, Timestamp};
use statistics::sequential::group::InterimLook;
use web::Services;

use super::{
    Maturity, ReportScope,
    measures::{Results, is_by_assignment, measure, people_of},
};
use crate::model::{
    comparison::{Compare, Measure},
    outcome::MessageGroup,
    sequential::{self, SequentialRules, by_looks, by_sequence},
    sequential_result::Sequential,
};

/// How long after a message opens and clicks are expected: three days, after which less than one in a hundred follows.
const RESPONSE_TIME: Duration = Duration::from_hours(72);

/// What the looks at a campaign's comparisons depend on.
#[derive(Debug, Clone)]
pub(super) enum Looking {
    /// The looks at its A/B test.
    Trial(Trial),
    /// It has no A/B test, and so no end that is known before.
    Open {
        /// Number of people at which an interval is narrowest.
        planned: u64,
        is_final: bool,
    },
}

impl Looking {
    /// The comparison of a variant with the baseline by all looks together.
    pub(super) fn compare(
        &self,
        variant: &str,
        own: &Measure,
        base: &Measure,
        rules: &SequentialRules,
    ) -> Sequential {
        match self {
            Self::Trial(trial) => by_looks(trial, variant, rules),
            Self::Open { planned, is_final } => {
                Sequential { is_final: *is_final, ..by_sequence(own, base, *planned, rules) }
            }
        }
    }
}

/// How the comparisons of a campaign are looked at.
///
/// # Errors
/// When ClickHouse is away.
pub(super) async fn looking(
    app: &Services,
    scope: &ReportScope,
    metric: WinnerMetric,
    confidence: f64,
    maturity: &Maturity,
) -> Result<Looking> {
    Ok(match Trial::of(&scope.campaign) {
        Some(trial) => Looking::Trial(trial),
        None => Looking::Open {
            planned: 2 * checks::sample_needed(confidence),
            is_final: is_final(app, scope, metric, maturity).await?,
        },
    })
}

/// Whether no more messages and no more answers are expected.
async fn is_final(
    app: &Services,
    scope: &ReportScope,
    metric: WinnerMetric,
    maturity: &Maturity,
) -> Result<bool> {
    let goes_on =
        matches!(scope.campaign.definition.send_type, SendType::Triggered | SendType::Recurring);
    let is_ended = matches!(
        scope.campaign.state.status,
        Status::Completed | Status::Cancelled | Status::Archived | Status::Failed
    );
    if goes_on && !is_ended {
        return Ok(false);
    }
    if is_by_assignment(metric) {
        return Ok(maturity.opens_until.is_none());
    }
    let last = scope.spans(app).await?.iter().map(|span| span.last_ms).max();
    let now = app.clock().now();
    Ok(last.is_none_or(|last| Timestamp::from_millis(last).after(RESPONSE_TIME) <= now))
}

/// A look at a running A/B test. None while none is due: before its first message, too soon after the last look, and
/// after one at its end, which has spent all of the error.
pub(super) fn look(
    scope: &ReportScope,
    config: &AbTestConfig,
    people: &[PeopleSums],
    results: &Results<'_>,
    now: Timestamp,
) -> Option<TrialLook> {
    let trial = Trial::of(&scope.campaign)?;
    let time = trial.share_of_time(config, now).filter(|time| trial.is_look_due(*time))?;
    let measures: Vec<Measure> = (1_u8..)
        .take(scope.variants().len())
        .map(|number| {
            let belongs = |of: &MessageGroup| of.variant == number;
            measure(config.winner_metric(), &people_of(people, number), results, &belongs)
        })
        .collect();
    let baseline = comparable_baseline(scope, config, &measures);
    let variants = baseline.map(|baseline| {
        let others = scope.variants().iter().enumerate().filter(|(at, _)| *at != baseline);
        let looked_at = others.filter_map(|(at, variant)| {
            let compare =
                Compare { confidence: config.confidence_level(), seed: scope.variant_seed(at) };
            let rules = SequentialRules { compare, comparisons: measures.len() - 1 };
            let before = looks_at(&trial, variant);
            let (own, base) = (&measures[at], &measures[baseline]);
            let result = sequential::look(own, base, &before, time, &rules)?;
            Some((variant.clone(), result))
        });
        looked_at.collect()
    });
    Some(TrialLook { at: now, time, variants: variants.unwrap_or_default() })
}

/// The index of the variant that others are compared with. None where it has nothing to be compared by, or a variant has
/// fewer recipients than the test asks for.
fn comparable_baseline(
    scope: &ReportScope,
    config: &AbTestConfig,
    measures: &[Measure],
) -> Option<usize> {
    let control = scope.control().map(|control| usize::from(control) - 1);
    let is_measured = control.is_none() || is_by_assignment(config.winner_metric());
    let least = u64::from(config.min_sample_per_variant());
    let is_enough = measures.iter().all(|measure| measure.sample() >= least);
    (is_measured && is_enough && !measures.is_empty()).then_some(control.unwrap_or(0))
}

/// The earlier looks at a variant.
fn looks_at(trial: &Trial, variant: &str) -> Vec<InterimLook> {
    let of = |look: &TrialLook| {
        let result = look.variants.get(variant)?;
        Some(InterimLook { time: look.time, information: result.information, z: result.z })
    };
    trial.looks.iter().filter_map(of).collect()
}
