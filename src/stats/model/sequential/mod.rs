//! Comparisons that are looked at again and again while messages are answered.

use campaigns::model::trial::{LookResult, Trial};
use statistics::{
    gamma::two_sided,
    normal,
    proportion::{Interval, real},
    sequential::{
        confidence_sequence::ConfidenceSequence,
        group::{self, InterimLook},
    },
};

use super::{
    comparison::{Compare, Comparison, Measure},
    sequential_result::{Sequential, SequentialMethod},
};

/// Largest boundary up to which the interval of a lift in revenue follows from random draws: beyond are too few of them.
const BOUNDARY_OF_DRAWS_MAX: f64 = 3.3;
/// Largest boundary with which an interval is shown.
const BOUNDARY_MAX: f64 = 7.0;

/// How comparisons are looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SequentialRules {
    pub compare: Compare,
    /// How many comparisons share the error.
    pub comparisons: usize,
}

impl SequentialRules {
    /// The error that each comparison may make, so that all together make no more than asked for.
    fn alpha(&self) -> f64 {
        (1.0 - self.compare.confidence) / self.of_all()
    }

    fn of_all(&self) -> f64 {
        f64::from(u32::try_from(self.comparisons.max(1)).unwrap_or(u32::MAX))
    }

    fn adjusted(&self, p: f64) -> f64 {
        (p * self.of_all()).min(1.0)
    }

    fn is_significant(&self, p: Option<f64>) -> bool {
        p.is_some_and(|p| p < 1.0 - self.compare.confidence)
    }
}

/// The looks at a variant of an A/B test so far.
pub fn by_looks(trial: &Trial, variant: &str, rules: &SequentialRules) -> Sequential {
    let result = trial.looks.iter().rev().find_map(|look| look.variants.get(variant));
    let p_value = result.map(|result| rules.adjusted(result.p_value));
    let ends = result.and_then(|result| result.lift_lower.zip(result.lift_upper));
    Sequential {
        method: SequentialMethod::GroupSequential,
        p_value,
        interval: ends.map(|(lower, upper)| Interval { lower, upper }),
        is_significant: rules.is_significant(p_value),
        information_fraction: Some(trial.looks.last().map_or(0.0, |look| look.time)),
        boundary: result.map(|result| result.boundary),
        is_final: trial.is_over(),
    }
}

/// A comparison without a known end. `planned`: the number of people at which its interval is narrowest.
pub fn by_sequence(
    own: &Measure,
    base: &Measure,
    planned: u64,
    rules: &SequentialRules,
) -> Sequential {
    let units = own.sample() + base.sample();
    let variance = own.variance() + base.variance();
    let alpha = rules.alpha();
    let of = |variance: f64| ConfidenceSequence {
        units,
        variance: variance * real(units),
        narrowest_at: planned,
        alpha,
    };
    let is_comparable = own.sample() > 0 && base.sample() > 0 && variance > 0.0;
    let half = of(variance).half_width(alpha).filter(|_| is_comparable);
    let p_value = of(variance).p_value(own.value() - base.value()).filter(|_| is_comparable);
    let p_value = p_value.map(|p| rules.adjusted(p));
    Sequential {
        method: SequentialMethod::ConfidenceSequence,
        p_value,
        interval: half.and_then(|_| {
            let (own_value, base_value) = (own.value(), base.value());
            if own_value <= 0.0 || base_value <= 0.0 {
                return None;
            }
            // The delta method on the logarithm of the ratio, as for a single look.
            let log_variance = own.variance() / (own_value * own_value)
                + base.variance() / (base_value * base_value);
            let (log, half) = ((own_value / base_value).ln(), of(log_variance).half_width(alpha)?);
            Some(Interval { lower: (log - half).exp_m1(), upper: (log + half).exp_m1() })
        }),
        is_significant: rules.is_significant(p_value),
        information_fraction: None,
        boundary: half.map(|half| half / variance.sqrt()),
        is_final: false,
    }
}

/// A look at a variant, after the earlier ones. None where the samples are too small for a comparison.
pub fn look(
    own: &Measure,
    base: &Measure,
    before: &[InterimLook],
    time: f64,
    rules: &SequentialRules,
) -> Option<LookResult> {
    let comparison = own.against(base, rules.compare);
    let z = z_score(own, base, &comparison)?;
    let information = information(own, base);
    let mut looks = before.to_vec();
    looks.push(InterimLook { time, information, z });
    let boundary = group::bounds(rules.alpha(), &looks).pop()?;
    let max = match own {
        Measure::Money(_) => BOUNDARY_OF_DRAWS_MAX,
        Measure::Rate(_) | Measure::Ratio(_) => BOUNDARY_MAX,
    };
    let confidence = 1.0 - two_sided(boundary);
    let interval = (boundary <= max)
        .then(|| own.against(base, Compare { confidence, ..rules.compare }).lift_interval)
        .flatten();
    Some(LookResult {
        z,
        information,
        boundary,
        p_value: group::p_value(&looks),
        lift_lower: interval.map(|interval| interval.lower),
        lift_upper: interval.map(|interval| interval.upper),
    })
}

/// The difference in standard deviations; of revenue that which its p-value by random assignment stands for. None where
/// the samples are too small.
fn z_score(own: &Measure, base: &Measure, comparison: &Comparison) -> Option<f64> {
    if !comparison.warnings.is_empty() {
        return None;
    }
    match own {
        Measure::Money(_) => {
            let size = normal::quantile(1.0 - comparison.p_value? / 2.0);
            Some(size.copysign(own.value() - base.value()))
        }
        Measure::Rate(_) | Measure::Ratio(_) => comparison.z_score,
    }
}

/// What was seen so far: the odds of success, times the harmonic sum of the trials. The difference of two rates is a sum
/// whose looks correlate by this, whether trials come in or their successes (the empirical process of the times of success).
/// Of revenue the same of its payers.
fn information(own: &Measure, base: &Measure) -> f64 {
    let (own, base) = (own.trials(), base.trials());
    if own.count <= 0.0 || base.count <= 0.0 {
        return 0.0;
    }
    let rate = (own.successes + base.successes) / (own.count + base.count);
    let odds = rate / (1.0 - rate).max(1.0 / (own.count + base.count));
    odds * own.count * base.count / (own.count + base.count)
}

#[cfg(test)]
mod tests;
